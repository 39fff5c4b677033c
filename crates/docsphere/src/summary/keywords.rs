//! Keywords: terms with a high weight in a cluster's centroid and a low one in the others.
//!
//! With p the term's share in this centroid and q its share in the size-weighted sum of all other
//! centroids, the score is `p / (p + q)`. Ranking by it alone would favour rare words that only
//! this cluster happens to have, even among the heavier terms; so terms are ranked by `p * score`:
//! weight times contrast.
//!
//! The idea is that of the Python library soyclustering (Kim, Kim, Cho: "Improving spherical
//! k-means for document clustering", Expert Systems with Applications 150, 2020,
//! doi:10.1016/j.eswa.2020.113288).

use super::Keyword;
use crate::centroids::Centroids;
use crate::ids::TermId;
use crate::vectors::Row;

/// The weight of every term in all centroids together.
pub(super) struct TermShares {
    by_term: Vec<Weights>,
    all: Weights,
}

/// Sums over clusters.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    sum: f64,
    squares: f64,
}

impl Weights {
    fn add(&mut self, weight: f64) {
        self.sum += weight;
        self.squares += weight * weight;
    }

    /// The effective number of clusters: as many clusters of equal weight have the same sum of
    /// squared shares.
    fn n_clusters(self) -> f64 {
        self.sum * self.sum / self.squares.max(f64::MIN_POSITIVE)
    }
}

impl TermShares {
    /// `sizes` has the number of documents of each cluster.
    pub(super) fn new(centroids: &Centroids, sizes: &[usize]) -> Self {
        let mut by_term = vec![Weights::default(); centroids.n_terms()];
        let mut all = Weights::default();
        for (cluster, &size) in sizes.iter().enumerate() {
            let mut of_cluster = 0.0;
            for (term, value) in centroids.row(cluster).iter() {
                let weight = size as f64 * f64::from(value.max(0.0));
                by_term[term as usize].add(weight);
                of_cluster += weight;
            }
            all.add(of_cluster);
        }
        TermShares { by_term, all }
    }

    /// See [`Keyword::spread`].
    fn spread(&self, weights: Weights) -> f64 {
        let n_others = self.all.n_clusters() - 1.0;
        // With one cluster there is nothing to be spread over, but for rounding.
        if n_others < 1e-9 { 0.0 } else { ((weights.n_clusters() - 1.0) / n_others).max(0.0) }
    }

    /// The keywords of a cluster with this centroid and `size` documents.
    pub(super) fn keywords(&self, centroid: Row<'_>, size: usize, n_keywords: usize) -> Vec<Keyword> {
        let entries = || centroid.iter().filter(|&(_, value)| value > 0.0);
        let own: f64 = entries().map(|(_, value)| f64::from(value)).sum();
        let others = (self.all.sum - size as f64 * own).max(f64::MIN_POSITIVE);
        let ranked = |(term, value): (u32, f32)| {
            let value = f64::from(value);
            let p = value / own;
            // Rounding can leave a slightly negative value for the others.
            let weights = self.by_term[term as usize];
            let q = (weights.sum - size as f64 * value).max(0.0) / others;
            let score = p / (p + q);
            let spread = self.spread(weights);
            (p * score, Keyword { term: TermId::new(term), weight: value, score, spread, n_docs: None })
        };
        let mut keywords: Vec<(f64, Keyword)> = entries().map(ranked).collect();
        // Stable: on a tie the smaller term stays first.
        keywords.sort_by(|a, b| b.0.total_cmp(&a.0));
        keywords.truncate(n_keywords);
        keywords.into_iter().map(|(_, keyword)| keyword).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn a_term_that_the_others_lack_comes_first() {
        // Both centroids are heavy in term 0; term 1 belongs to the first, term 2 to the second.
        let rows =
            SparseRows::from_parts(3, vec![0, 2, 4], vec![0, 1, 0, 2], vec![4.0, 3.0, 4.0, 3.0]).unwrap();
        let centroids = Centroids::from_rows(rows);
        let shares = TermShares::new(&centroids, &[2, 2]);
        let keywords = shares.keywords(centroids.row(0), 2, 5);
        assert_eq!(keywords.iter().map(|k| k.term.number()).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(keywords[0].weight, f64::from(centroids.row(0).values[1]));
        assert!((keywords[0].score - 1.0).abs() < 1e-12);
        assert!((keywords[1].score - 0.5).abs() < 1e-12, "the same share on both sides");
        // One of two clusters has the first term, both have the second alike.
        assert!(keywords[0].spread.abs() < 1e-12 && (keywords[1].spread - 1.0).abs() < 1e-12);
        let shares = TermShares::new(&centroids, &[2, 0]);
        assert_eq!(shares.keywords(centroids.row(0), 2, 1)[0].spread, 0.0, "only one has documents");
    }

    #[test]
    fn an_empty_centroid_has_no_keywords() {
        let rows = SparseRows::from_parts(2, vec![0, 0, 1], vec![0], vec![1.0]).unwrap();
        let centroids = Centroids::from_rows(rows);
        let shares = TermShares::new(&centroids, &[0, 1]);
        assert!(shares.keywords(centroids.row(0), 0, 5).is_empty());
        assert_eq!(shares.keywords(centroids.row(1), 1, 5).len(), 1);
    }
}
