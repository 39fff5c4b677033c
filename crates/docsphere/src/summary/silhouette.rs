//! The cosine silhouette of every document: whether it fits its cluster better than the next one.
//!
//! With a, the mean cosine distance of a document to the others of its cluster, and b, the least
//! mean distance to the documents of another cluster, the silhouette is `(b - a) / max(a, b)`: 1 if
//! the own cluster is far nearer, 0 at a border, negative if another cluster is nearer.
//!
//! No two documents are compared. The mean cosine of a document with all of a cluster is its dot
//! product with the sum of the cluster, divided by the number of documents: one pass over the rows
//! gives all of them. Sums are those of integers, so the order of addition does not matter.
//!
//! **Cost.** Time: the sums, then as one assignment by posting lists (`inverted`). Memory: the
//! sums, posting lists over them (8 bytes per entry), 28 bytes per document, `8 * k` per thread.
//!
//! Reference: Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of
//! cluster analysis", Journal of Computational and Applied Mathematics 20, 1987,
//! doi:10.1016/0377-0427(87)90125-7.

use rayon::prelude::*;

use super::check_labels;
use crate::assign::Postings;
use crate::centroids::{Centroid, Centroids};
use crate::error::{ErrorKind, Result};
use crate::labels::Labels;
use crate::update::{self, Changes, Delta, DeltaScratch, Sums, batch_clusters};
use crate::vectors::{COINCIDENT, Row, RowWeights, UnitRows};

/// The silhouettes of documents, and their means. See [`silhouette`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Silhouette {
    /// From -1 to 1 for each row; 0 for the only row of its cluster; NaN for rows without a
    /// cluster.
    pub of_rows: Vec<f64>,
    /// The mean over the rows of each cluster; NaN for empty clusters.
    pub of_clusters: Vec<f64>,
    /// The mean over all rows that have a cluster; NaN if none has.
    pub mean: f64,
}

impl Silhouette {
    /// Upper bound on the bytes that [`silhouette`] needs in addition to the rows and labels.
    ///
    /// `n_entries` is the number of entries of all centroids together.
    pub fn forecast_bytes(
        n_rows: usize,
        n_terms: usize,
        n_clusters: usize,
        n_entries: u64,
        n_threads: usize,
    ) -> u64 {
        let (n_rows, k, n_threads) = (n_rows as u64, n_clusters as u64, n_threads as u64);
        // Sums and centroids, their posting lists, the labels as changes, and the values.
        let together = n_terms as u64 * update::batch_clusters(n_clusters, n_threads as usize) as u64;
        let sums = update::most_bytes(n_entries, together, k, n_terms as u64, n_threads);
        sums + 8 * n_entries + 8 * n_terms as u64 + 28 * n_rows + 8 * k * n_threads + 32 * k
    }
}

/// The exact cosine silhouette of every row, without comparing rows with each other.
///
/// ```
/// use docsphere::{SparseRows, UnitRows, silhouette};
///
/// let rows = SparseRows::from_parts(3, vec![0, 1, 2, 3, 4], vec![0, 0, 1, 1], vec![1.0; 4])?;
/// let found = silhouette(&UnitRows::new(rows), &vec![0, 0, 1, 1].into(), 2)?;
/// assert_eq!(found.of_rows, [1.0; 4]);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if there is not one label per row, a label is neither below `n_clusters`
/// nor -1, or fewer than two clusters have rows.
pub fn silhouette(rows: &UnitRows<'_>, labels: &Labels, n_clusters: usize) -> Result<Silhouette> {
    let means = Means::checked(rows, labels, n_clusters)?;
    let of_rows: Vec<f64> = (0..rows.n_rows())
        .into_par_iter()
        .with_min_len(64)
        .map_init(
            || vec![0.0; n_clusters],
            |similarities, doc| match usize::try_from(labels.as_slice()[doc]) {
                Ok(own) => means.silhouette(rows.row(doc), own, similarities),
                Err(_) => f64::NAN,
            },
        )
        .collect();
    let mut sums = vec![0.0; n_clusters];
    for (&label, value) in labels.as_slice().iter().zip(&of_rows) {
        if let Ok(cluster) = usize::try_from(label) {
            sums[cluster] += value;
        }
    }
    let mean = sums.iter().sum::<f64>() / means.sizes.iter().sum::<f64>();
    let of_clusters = sums.iter().zip(&means.sizes).map(|(sum, size)| sum / size).collect();
    Ok(Silhouette { of_rows, of_clusters, mean })
}

/// The mean row of each cluster: a direction, and a length.
pub(super) struct Means {
    postings: Postings,
    lengths: Vec<f64>,
    /// The number of rows of each cluster.
    sizes: Vec<f64>,
}

impl Means {
    /// Refuses labels that do not fit the rows, or that name fewer than two clusters.
    pub(super) fn checked(rows: &UnitRows<'_>, labels: &Labels, n_clusters: usize) -> Result<Self> {
        if labels.len() != rows.n_rows() {
            let expected = format!("{}, one for each row", rows.n_rows());
            let got = labels.len().to_string();
            return Err(ErrorKind::Mismatch { what: "the number of labels", expected, got }.into());
        }
        check_labels(labels, n_clusters)?;
        let means = Means::new(rows, labels, n_clusters)?;
        let n_used = means.sizes.iter().filter(|&&size| size > 0.0).count();
        if n_used < 2 {
            let expected = "at least 2 for a silhouette".to_owned();
            let got = n_used.to_string();
            return Err(
                ErrorKind::Mismatch { what: "the number of clusters with rows", expected, got }.into()
            );
        }
        Ok(means)
    }

    /// Those of labels that have been checked.
    fn new(rows: &UnitRows<'_>, labels: &Labels, n_clusters: usize) -> Result<Self> {
        // -1 becomes the label of rows that have none.
        let labels: Vec<u32> = labels.as_slice().iter().map(|&label| label as u32).collect();
        let (weights, scratch) = (RowWeights::UNIFORM, DeltaScratch::default());
        let (changes, touched) = Changes::between(&vec![u32::MAX; labels.len()], &labels, &weights);
        let mut sums = Sums::new(n_clusters);
        sums.count(&touched);
        let mut centroids = Centroids::new(rows.n_terms(), vec![Centroid::default(); n_clusters]);
        let deltas = |clusters, take: &mut dyn FnMut(Delta)| {
            take(changes.delta(clusters, rows, &weights, &scratch));
            Ok(())
        };
        let batch = batch_clusters(n_clusters, rayon::current_num_threads());
        sums.apply(&touched, &[], &mut centroids, batch, deltas)?;
        let sizes: Vec<f64> = sums.n_members().iter().map(|&size| f64::from(size)).collect();
        let lengths = sums.lengths().iter().zip(&sizes).map(|(length, size)| length / size).collect();
        let mut postings = Postings::default();
        postings.build(&centroids);
        Ok(Means { postings, lengths, sizes })
    }

    fn silhouette(&self, row: Row<'_>, own: usize, similarities: &mut [f64]) -> f64 {
        if self.sizes[own] == 1.0 {
            return 0.0;
        }
        self.postings.similarities(row, similarities);
        self.silhouette_by(row, own, similarities)
    }

    /// The silhouette of a row that is not alone in its cluster, by its similarities to the
    /// directions of all means.
    fn silhouette_by(&self, row: Row<'_>, own: usize, similarities: &[f64]) -> f64 {
        // If the rows of a cluster cancel out, its sum is zero, and so is every similarity.
        let mean_similarity = |cluster: usize| similarities[cluster].max(-1.0) * self.lengths[cluster];
        let n_others = self.sizes[own] - 1.0;
        let a = 1.0 - (mean_similarity(own) * self.sizes[own] - square_of(row)) / n_others;
        let b = 1.0 - self.others(own).map(mean_similarity).fold(f64::NEG_INFINITY, f64::max);
        width(a, b)
    }

    /// All measures of a row; see [`Separation`](super::Separation).
    pub(super) fn separated(&self, row: Row<'_>, own: usize, similarities: &mut [f64]) -> [f64; 3] {
        self.postings.similarities(row, similarities);
        let similarity =
            |cluster: usize| if similarities[cluster] > -2.0 { similarities[cluster] } else { 0.0 };
        let best_other = self.others(own).map(similarity).fold(f64::NEG_INFINITY, f64::max);
        if self.sizes[own] == 1.0 {
            return [0.0, 0.0, -best_other];
        }
        let (length, square) = (self.lengths[own] * self.sizes[own], square_of(row));
        let along = similarity(own) * length;
        // The length of the sum of the others of the cluster.
        let rest = (length * length - 2.0 * along + square).max(0.0).sqrt();
        let own_without = if rest < COINCIDENT { 0.0 } else { (along - square) / rest };
        let simplified = width(1.0 - similarity(own), 1.0 - best_other);
        [self.silhouette_by(row, own, similarities), simplified, own_without - best_other]
    }

    /// The other clusters that have rows.
    fn others(&self, own: usize) -> impl Iterator<Item = usize> {
        (0..self.sizes.len()).filter(move |&cluster| cluster != own && self.sizes[cluster] > 0.0)
    }
}

/// The squared length of a row, which is one but for rounding.
fn square_of(row: Row<'_>) -> f64 {
    row.values.iter().map(|&x| f64::from(x) * f64::from(x)).sum()
}

/// The silhouette for a distance to the own cluster and one to the next.
fn width(a: f64, b: f64) -> f64 {
    // Equal rows have no distance, but for rounding, which may even make it negative.
    let [a, b] = [a, b].map(|distance| if distance < COINCIDENT { 0.0 } else { distance });
    if a == b { 0.0 } else { (b - a) / a.max(b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;
    use proptest::prelude::*;

    /// The definition: every pair of rows. Equal rows have no distance.
    fn plainly(rows: &UnitRows<'_>, labels: &[i32], n_clusters: usize) -> Vec<f64> {
        let distance = |a: usize, b: usize| match 1.0 - rows.row(a).dot(rows.row(b)) {
            near if near < COINCIDENT => 0.0,
            distance => distance,
        };
        let of_row = |doc: usize| {
            let mean = |cluster: usize| {
                let others = (0..labels.len()).filter(|&d| d != doc && labels[d] == cluster as i32);
                let (n, sum) = others.fold((0, 0.0), |(n, sum), other| (n + 1, sum + distance(doc, other)));
                (n > 0).then(|| sum / f64::from(n))
            };
            if labels[doc] < 0 {
                return f64::NAN;
            }
            let own = labels[doc] as usize;
            let Some(a) = mean(own) else { return 0.0 };
            let others = (0..n_clusters).filter(|&cluster| cluster != own).filter_map(mean);
            let b = others.fold(f64::INFINITY, f64::min);
            if a == b { 0.0 } else { (b - a) / a.max(b) }
        };
        (0..labels.len()).map(of_row).collect()
    }

    proptest! {
        #[test]
        fn silhouettes_are_those_of_all_pairs(
            docs in prop::collection::vec(prop::collection::btree_map(0u32..9, -2i8..5, 1..5), 4..25),
            labels in prop::collection::vec(-1i32..4, 25),
        ) {
            let rows = UnitRows::new(SparseRows::from_maps(9, &docs));
            let mut labels = labels[..docs.len()].to_vec();
            (labels[0], labels[1]) = (0, 3);
            let found = silhouette(&rows, &labels.clone().into(), 5).unwrap();
            for ((found, expected), &label) in found.of_rows.iter().zip(plainly(&rows, &labels, 5)).zip(&labels) {
                let is_right = if label < 0 { found.is_nan() } else { (found - expected).abs() < 1e-5 };
                prop_assert!(is_right, "{} {}", found, expected);
            }
            let of_three: Vec<f64> =
                found.of_rows.iter().zip(&labels).filter(|(_, label)| **label == 3).map(|(s, _)| *s).collect();
            let mean = of_three.iter().sum::<f64>() / of_three.len() as f64;
            prop_assert!((found.of_clusters[3] - mean).abs() < 1e-12);
            prop_assert!(found.of_clusters[4].is_nan());
        }
    }

    #[test]
    fn labels_must_fit_and_there_must_be_two_clusters() {
        let rows = UnitRows::new(SparseRows::from_parts(2, vec![0, 1, 2], vec![0, 1], vec![1.0; 2]).unwrap());
        let message = |labels: Vec<i32>| silhouette(&rows, &labels.into(), 2).unwrap_err().to_string();
        assert_eq!(message(vec![0]), "the number of labels must be 2, one for each row, got 1");
        assert!(message(vec![0, 2]).starts_with("every label must be -1 or less than 2"));
        assert_eq!(
            message(vec![1, 1]),
            "the number of clusters with rows must be at least 2 for a silhouette, got 1"
        );
    }
}
