//! How far clusters are apart, in three measures from one pass over the rows.
//!
//! **Cost.** As the [silhouette](super::silhouette()), without the memory per document.

use rayon::prelude::*;

use super::silhouette::Means;
use crate::error::Result;
use crate::labels::Labels;
use crate::vectors::UnitRows;

/// Rows whose measures are added up together, in order, so that threads change no bit.
const CHUNK_ROWS: usize = 1024;

/// How far clusters are apart: means over all rows that have a cluster. See [`separation`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Separation {
    /// The exact cosine silhouette: see [`silhouette`](super::silhouette()).
    pub silhouette: f64,
    /// The simplified silhouette: `(b - a) / max(a, b)`, where a is the cosine distance of a row to
    /// its own centroid and b that to the nearest other; 0 for the only row of a cluster.
    pub simplified_silhouette: f64,
    /// The margin: the similarity of a row to its own centroid as it were without the row (0 for
    /// the only row of a cluster), minus the greatest similarity to another centroid. Unlike the
    /// silhouettes it does not reward clusters for being small: a row does not count as near to
    /// itself.
    pub margin: f64,
}

/// How far the clusters of these labels are apart. Centroids are the directions of the sums of
/// their rows.
///
/// ```
/// use docsphere::{SparseRows, UnitRows, separation};
///
/// let rows = SparseRows::from_parts(3, vec![0, 1, 2, 3, 4], vec![0, 0, 1, 1], vec![1.0; 4])?;
/// let found = separation(&UnitRows::new(rows), &vec![0, 0, 1, 1].into(), 2)?;
/// assert_eq!((found.silhouette, found.simplified_silhouette, found.margin), (1.0, 1.0, 1.0));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// As [`silhouette`](super::silhouette()).
pub fn separation(rows: &UnitRows<'_>, labels: &Labels, n_clusters: usize) -> Result<Separation> {
    let means = Means::checked(rows, labels, n_clusters)?;
    let of_chunk = |similarities: &mut Vec<f64>, chunk: usize| {
        let first = chunk * CHUNK_ROWS;
        let docs = first..(first + CHUNK_ROWS).min(rows.n_rows());
        let mut total = [0.0; 4];
        for doc in docs {
            if let Ok(own) = usize::try_from(labels.as_slice()[doc]) {
                let found = means.separated(rows.row(doc), own, similarities);
                add(&mut total, [found[0], found[1], found[2], 1.0]);
            }
        }
        total
    };
    let totals: Vec<[f64; 4]> = (0..rows.n_rows().div_ceil(CHUNK_ROWS))
        .into_par_iter()
        .with_max_len(1)
        .map_init(|| vec![0.0; n_clusters], of_chunk)
        .collect();
    let mut total = [0.0; 4];
    totals.into_iter().for_each(|chunk| add(&mut total, chunk));
    let [silhouette, simplified_silhouette, margin] = [0, 1, 2].map(|measure| total[measure] / total[3]);
    Ok(Separation { silhouette, simplified_silhouette, margin })
}

fn add(total: &mut [f64; 4], more: [f64; 4]) {
    total.iter_mut().zip(more).for_each(|(total, more)| *total += more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::silhouette;
    use crate::vectors::{COINCIDENT, SparseRows};
    use proptest::prelude::*;

    const N_TERMS: usize = 9;

    fn dense(rows: &UnitRows<'_>, doc: usize) -> [f64; N_TERMS] {
        let mut dense = [0.0; N_TERMS];
        rows.row(doc).iter().for_each(|(term, x)| dense[term as usize] = f64::from(x));
        dense
    }

    /// The direction of the sum of some rows; `None` if it is zero.
    fn direction(rows: &UnitRows<'_>, docs: impl Iterator<Item = usize>) -> Option<[f64; N_TERMS]> {
        let mut sum = [0.0; N_TERMS];
        docs.for_each(|doc| sum.iter_mut().zip(dense(rows, doc)).for_each(|(sum, x)| *sum += x));
        let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        (length > COINCIDENT).then(|| sum.map(|x| x / length))
    }

    /// The definitions, cluster by cluster: simplified silhouette and margin.
    fn plainly(rows: &UnitRows<'_>, labels: &[i32], doc: usize) -> (f64, f64) {
        let dot = |direction: Option<[f64; N_TERMS]>| {
            direction.map_or(0.0, |d| d.iter().zip(dense(rows, doc)).map(|(d, x)| d * x).sum::<f64>())
        };
        let members = |cluster: i32| (0..labels.len()).filter(move |&d| labels[d] == cluster);
        let own = labels[doc];
        let used = (0..5).filter(|&cluster| cluster != own && members(cluster).next().is_some());
        let best_other = used.map(|c| dot(direction(rows, members(c)))).fold(f64::NEG_INFINITY, f64::max);
        if members(own).count() == 1 {
            return (0.0, -best_other);
        }
        let without = dot(direction(rows, members(own).filter(|&other| other != doc)));
        let distances = [dot(direction(rows, members(own))), best_other];
        let [a, b] = distances.map(|s| if 1.0 - s < COINCIDENT { 0.0 } else { 1.0 - s });
        (if a == b { 0.0 } else { (b - a) / a.max(b) }, without - best_other)
    }

    proptest! {
        #[test]
        fn measures_are_those_of_their_definitions(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..9, -2i8..5, 1..5), 4..25),
            labels in prop::collection::vec(-1i32..4, 25),
        ) {
            let rows = UnitRows::new(SparseRows::from_maps(N_TERMS, &docs));
            let mut labels = labels[..docs.len()].to_vec();
            (labels[0], labels[1]) = (0, 3);
            let found = separation(&rows, &labels.clone().into(), 5).unwrap();
            let labelled: Vec<usize> = (0..docs.len()).filter(|&doc| labels[doc] >= 0).collect();
            let mean = |of: &dyn Fn(usize) -> f64| {
                labelled.iter().map(|&doc| of(doc)).sum::<f64>() / labelled.len() as f64
            };
            let simplified = mean(&|doc| plainly(&rows, &labels, doc).0);
            prop_assert!((found.simplified_silhouette - simplified).abs() < 1e-4);
            let margin = mean(&|doc| plainly(&rows, &labels, doc).1);
            prop_assert!((found.margin - margin).abs() < 1e-4, "{} {}", found.margin, margin);
            let exact = silhouette(&rows, &labels.into(), 5).unwrap().mean;
            prop_assert!((found.silhouette - exact).abs() < 1e-9);
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let docs: Vec<std::collections::BTreeMap<u32, i8>> = (0..5000u32)
            .map(|doc| [(doc % 9, 1), (doc / 9 % 9, 2), (doc / 7 % 9, 3)].into_iter().collect())
            .collect();
        let rows = UnitRows::new(SparseRows::from_maps(N_TERMS, &docs));
        let labels: Labels = (0..5000).map(|doc| doc % 7 - 1).collect::<Vec<i32>>().into();
        let on = |n_threads| {
            crate::threads::on_threads(Some(n_threads), || separation(&rows, &labels, 6).unwrap()).unwrap()
        };
        assert_eq!(on(1), on(3));
    }
}
