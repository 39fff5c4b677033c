//! Numbers of clusters to compare.

use std::fmt;
use std::str::FromStr;

use crate::centroids::MAX_CLUSTERS;
use crate::error::{Error, Result};

/// Values of a range without a number of values.
const DEFAULT_VALUES: usize = 10;

/// The most values of a grid.
const MAX_VALUES: usize = 100;

/// First digits of numbers that people like, and the end of the decade.
const ROUND: [f64; 12] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0];

/// Numbers of clusters, ascending: a list (`20,50,100`), or a range in geometric steps (`20..2000`
/// for about ten values, `20..2000:15` for about fifteen), rounded to numbers that are easy to
/// remember.
///
/// ```
/// use docsphere::ClusterGrid;
///
/// let grid: ClusterGrid = "20..2000".parse()?;
/// assert_eq!(grid.as_slice(), [20, 30, 60, 100, 150, 250, 400, 700, 1200, 2000]);
/// assert_eq!("50,20".parse::<ClusterGrid>()?.as_slice(), [20, 50]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterGrid(Vec<usize>);

impl ClusterGrid {
    /// These numbers, each once.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) for no numbers, more than 100, or one
    /// that is not from 2 to 16,777,216.
    pub fn new(n_clusters: impl Into<Vec<usize>>) -> Result<Self> {
        let mut all = n_clusters.into();
        for &number in &all {
            let fits = (2..=MAX_CLUSTERS).contains(&number);
            Error::unless(fits, "n_clusters", "from 2 to 16777216 in a sweep", number)?;
        }
        all.sort_unstable();
        all.dedup();
        let fits = (1..=MAX_VALUES).contains(&all.len());
        Error::unless(fits, "n_clusters", "from 1 to 100 numbers", format!("{} numbers", all.len()))?;
        Ok(ClusterGrid(all))
    }

    /// Numbers from `from` to `to` in geometric steps, about `n_values` of them (`None` for ten).
    /// Both ends are kept as they are, the others rounded; a narrow range has fewer.
    ///
    /// # Errors
    /// As [`ClusterGrid::new`]; an end before the begin; a number of values that is not from 2 to
    /// 100.
    pub fn geometric(from: usize, to: usize, n_values: impl Into<Option<usize>>) -> Result<Self> {
        let n_values = n_values.into().unwrap_or(DEFAULT_VALUES);
        let fits = (2..=MAX_VALUES).contains(&n_values);
        Error::unless(fits, "n_clusters", "a range of 2 to 100 values", format!("{n_values} values"))?;
        Error::unless(from <= to, "n_clusters", "a range that ascends", format!("{from}..{to}"))?;
        // Checks the ends before anything is computed from them.
        ClusterGrid::new([from, to])?;
        let step = (to as f64 / from as f64).powf(1.0 / (n_values - 1) as f64);
        let between = (1..n_values - 1).map(|place| rounded(from as f64 * step.powi(place as i32)));
        let within = between.filter(|value| (from..=to).contains(value));
        ClusterGrid::new(within.chain([from, to]).collect::<Vec<_>>())
    }

    /// Numbers to compare for so many documents, if nobody has chosen any: from 5 to 1/20 of the
    /// documents, but at most 2,000. `None` for fewer than four documents; from 2 to half of the
    /// documents, but at most 10, if 1/20 is fewer.
    pub fn for_documents(n_docs: usize) -> Option<Self> {
        let most = (n_docs / 20).min(2_000).max((n_docs / 2).min(10));
        (n_docs >= 4).then(|| ClusterGrid::geometric(if most > 10 { 5 } else { 2 }, most, None).ok())?
    }

    /// The numbers, ascending.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

/// The nearest number that people like, by ratio.
fn rounded(value: f64) -> usize {
    if value < 10.0 {
        return value.round() as usize;
    }
    let decade = 10f64.powi(value.log10().floor() as i32);
    let off = |first: f64| (first * decade / value).ln().abs();
    let nearest = ROUND.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b)));
    (nearest.unwrap_or(1.0) * decade).round() as usize
}

impl fmt::Display for ClusterGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.pad(&numbers.join(","))
    }
}

impl FromStr for ClusterGrid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |part: &str| {
            let found = part.trim().parse::<usize>().ok();
            let expected = "a range such as 20..2000 or 20..2000:15, or a list such as 20,50,100";
            let refused = || Error::unless(false, "n_clusters", expected, format!("\"{text}\""));
            found.map_or_else(|| refused().map(|()| 0), Ok)
        };
        match text.split_once("..") {
            Some((from, rest)) => match rest.split_once(':') {
                Some((to, n)) => ClusterGrid::geometric(number(from)?, number(to)?, number(n)?),
                None => ClusterGrid::geometric(number(from)?, number(rest)?, None),
            },
            None => ClusterGrid::new(text.split(',').map(number).collect::<Result<Vec<_>>>()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(text: &str) -> Vec<usize> {
        text.parse::<ClusterGrid>().unwrap().0
    }

    fn message(text: &str) -> String {
        text.parse::<ClusterGrid>().unwrap_err().to_string()
    }

    #[test]
    fn ranges_are_rounded_in_between_and_keep_their_ends() {
        assert_eq!(grid("7..13"), [7, 8, 9, 10, 12, 13]);
        assert_eq!(grid("33..33"), [33]);
        assert_eq!(grid("10..1000:3"), [10, 100, 1000]);
        assert_eq!(grid("2..17:2"), [2, 17]);
        let wide = grid("3..9999999:15");
        assert_eq!((wide[0], wide[wide.len() - 1], wide.len()), (3, 9_999_999, 15));
        assert!(wide.windows(2).all(|two| two[0] < two[1]));
    }

    #[test]
    fn every_number_of_documents_has_a_grid_but_for_the_fewest() {
        let of = |n_docs| ClusterGrid::for_documents(n_docs).map(|grid| grid.0);
        assert_eq!((of(3), of(4)), (None, Some(vec![2])));
        assert_eq!(of(12).unwrap(), [2, 3, 4, 5, 6]);
        assert_eq!(of(480).unwrap(), [5, 6, 7, 8, 10, 12, 15, 20, 24]);
        for n_docs in [5, 19, 21, 199, 210, 1_000, 20_000, 1 << 30] {
            let grid = of(n_docs).unwrap();
            assert!(*grid.last().unwrap() <= (n_docs / 2).min(2_000), "{n_docs}: {grid:?}");
        }
    }

    #[test]
    fn what_is_no_grid_is_refused_with_what_was_typed() {
        let expected =
            "n_clusters must be a range such as 20..2000 or 20..2000:15, or a list such as 20,50,100";
        for text in ["", "many", "20..", "..20", "20..x", "20..30:", "20,,30", "-5..5", "2.5"] {
            assert_eq!(message(text), format!("{expected}, got \"{text}\""));
        }
        assert_eq!(message("30..20"), "n_clusters must be a range that ascends, got 30..20");
        assert_eq!(message("1,5"), "n_clusters must be from 2 to 16777216 in a sweep, got 1");
        assert_eq!(message("0..5"), "n_clusters must be from 2 to 16777216 in a sweep, got 0");
        assert_eq!(message("2..5:1"), "n_clusters must be a range of 2 to 100 values, got 1 values");
    }
}
