//! The recommendation.
//!
//! *Stability over halves* tends to too few clusters: the fewer there are, the easier they come
//! again. The *margin* tends to too many: small clusters are far apart. The recommendation is the
//! number halfway between the most stable one and the one with the greatest margin, by ratio, and
//! the range between the two is its uncertainty. There is no parameter
//! (docs/guide/choosing-k.md has other rules beside it).

use super::Measures;
use crate::vectors::COINCIDENT;

/// Which number of clusters to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Of the numbers that were compared, the one nearest to the geometric mean of the one
    /// with the greatest margin and the one with the greatest stability over halves.
    pub n_clusters: usize,
    /// The least number that may be as good: the neighbour before both.
    pub from: usize,
    /// The greatest number that may be as good: the neighbour after both.
    pub to: usize,
    /// The number with the greatest margin.
    pub by_margin: usize,
    /// The number with the greatest stability over halves; `None` if that was not measured, and the
    /// margin decides alone.
    pub by_stability: Option<usize>,
}

impl Advice {
    /// `None` if fewer than two can be compared, or no margin or no stability is above 0.
    pub(super) fn of(measures: &[Measures]) -> Option<Self> {
        // Numbers without stability are not compared with those that have it.
        let has_stability = measures.iter().any(|m| m.halves.is_some());
        let is_compared = |m: &&Measures| m.separation.is_some() && m.halves.is_some() == has_stability;
        let compared: Vec<&Measures> = measures.iter().filter(is_compared).collect();
        if compared.len() < 2 {
            return None;
        }
        let by_margin = greatest(compared.iter().filter_map(|m| Some(m.separation?.margin)))?;
        let by_stability = match has_stability {
            true => greatest(compared.iter().filter_map(|m| Some(m.halves.as_ref()?.ari())))?,
            false => by_margin,
        };
        let (first, last) = (by_margin.min(by_stability), by_margin.max(by_stability));
        let number = |place: usize| compared[place].n_clusters;
        let middle = f64::midpoint((number(first) as f64).ln(), (number(last) as f64).ln());
        let off = |place: &usize| ((number(*place) as f64).ln() - middle).abs();
        let halfway = (first..=last).min_by(|a, b| off(a).total_cmp(&off(b)))?;
        Some(Advice {
            n_clusters: number(halfway),
            from: number(first.saturating_sub(1)),
            to: number((last + 1).min(compared.len() - 1)),
            by_margin: number(by_margin),
            by_stability: has_stability.then(|| number(by_stability)),
        })
    }
}

/// The place of the greatest value, of equal ones the first; `None` if none is above 0, but for
/// rounding.
fn greatest(values: impl Iterator<Item = f64>) -> Option<usize> {
    let mut best = (COINCIDENT, None);
    for (place, value) in values.enumerate() {
        if value > best.0 {
            best = (value, Some(place));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::agreement;
    use crate::summary::separation;
    use crate::sweep::Stability;
    use crate::vectors::{SparseRows, UnitRows};

    /// Measures with this margin and stability.
    fn measured(n_clusters: usize, margin: f64, ari: Option<f64>) -> Measures {
        let rows = SparseRows::from_parts(2, vec![0, 1, 2], vec![0, 1], vec![1.0; 2]).unwrap();
        let labels = vec![0, 1].into();
        let mut separation = separation(&UnitRows::new(rows), &labels, 2).unwrap();
        separation.margin = margin;
        let halves = ari.map(|ari| {
            let mut pair = agreement(&labels, &labels).unwrap();
            pair.ari = ari;
            Stability { pairs: vec![pair] }
        });
        Measures {
            n_clusters,
            objective: 1.0,
            mean_similarity: 0.5,
            separation: Some(separation),
            halves,
            seeds: None,
        }
    }

    #[test]
    fn the_number_halfway_between_both_measures_wins_and_the_range_is_between_them() {
        let all = [
            measured(3, 0.1, Some(0.7)),
            measured(5, 0.09, Some(0.8)),
            measured(10, 0.2, Some(0.7)),
            measured(20, 0.3, Some(0.73)),
            measured(40, 0.4, Some(0.71)),
            measured(80, 0.45, Some(0.6)),
            measured(160, 0.4, Some(0.6)),
            measured(320, 0.5, None),
        ];
        let advice = Advice::of(&all).unwrap();
        assert_eq!((advice.by_stability, advice.by_margin), (Some(5), 80));
        assert_eq!((advice.n_clusters, advice.from, advice.to), (20, 3, 160), "{advice:?}");
        // Two are equally near: the smaller one. Both ends are ends.
        let ends = Advice::of(&all[1..5]).unwrap();
        assert_eq!((ends.from, ends.n_clusters, ends.to), (5, 10, 40));
        let agreed = Advice::of(&all[..2]).unwrap();
        assert_eq!((agreed.from, agreed.n_clusters, agreed.to), (3, 3, 5), "{agreed:?}");
    }

    #[test]
    fn margin_alone_counts_without_stability_and_nothing_without_a_margin() {
        let all = [measured(5, 0.1, None), measured(10, 0.3, None), measured(20, 0.2, None)];
        let advice = Advice::of(&all).unwrap();
        assert_eq!((advice.n_clusters, advice.by_stability), (10, None));
        assert_eq!((advice.from, advice.to), (5, 20));
        assert_eq!(Advice::of(&all[..1]), None);
        assert_eq!(Advice::of(&[measured(5, -0.1, None), measured(10, 0.0, None)]), None);
        assert_eq!(Advice::of(&[measured(5, 1e-9, None), measured(10, 1e-8, None)]), None, "rounding");
        assert_eq!(Advice::of(&[measured(5, 0.1, Some(0.0)), measured(10, 0.2, Some(-0.1))]), None);
        let one = Measures { separation: None, ..measured(5, 0.0, None) };
        assert_eq!(Advice::of(&[one, measured(10, 0.5, None)]), None);
    }
}
