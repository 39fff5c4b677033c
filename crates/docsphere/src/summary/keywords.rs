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
    /// The weight of all terms.
    all: f64,
    /// The number of clusters that have documents.
    n_used: usize,
}

/// Sums over the clusters that have documents.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    /// Of the values, times the numbers of documents.
    weight: f64,
    /// Of the values.
    sum: f64,
    /// Of the squared values.
    squares: f64,
}

impl Weights {
    fn add(&mut self, value: f64, size: usize) {
        self.weight += value * size as f64;
        self.sum += value;
        self.squares += value * value;
    }

    /// The effective number of clusters: as many clusters of equal value have the same sum of
    /// squared shares. Large clusters count as much as small ones: otherwise one large cluster
    /// would make every term that it lacks look widely spread.
    fn n_clusters(self) -> f64 {
        self.sum * self.sum / self.squares.max(f64::MIN_POSITIVE)
    }
}

impl TermShares {
    /// `sizes` has the number of documents of each cluster.
    pub(super) fn new(centroids: &Centroids, sizes: &[usize]) -> Self {
        let mut by_term = vec![Weights::default(); centroids.n_terms()];
        let mut all = 0.0;
        for (cluster, &size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            for (term, value) in centroids.row(cluster).iter() {
                let value = f64::from(value.max(0.0));
                by_term[term as usize].add(value, size);
                all += value * size as f64;
            }
        }
        TermShares { by_term, all, n_used: sizes.iter().filter(|&&size| size > 0).count() }
    }

    /// See [`Keyword::spread`].
    fn spread(&self, weights: Weights) -> f64 {
        // With one cluster there is nothing to be spread over.
        let n_others = self.n_used.saturating_sub(1).max(1) as f64;
        ((weights.n_clusters() - 1.0) / n_others).clamp(0.0, 1.0)
    }

    /// The keywords of a cluster with this centroid and `size` documents.
    pub(super) fn keywords(&self, centroid: Row<'_>, size: usize, n_keywords: usize) -> Vec<Keyword> {
        let entries = || centroid.iter().filter(|&(_, value)| value > 0.0);
        let own: f64 = entries().map(|(_, value)| f64::from(value)).sum();
        let others = (self.all - size as f64 * own).max(f64::MIN_POSITIVE);
        let ranked = |(term, value): (u32, f32)| {
            let value = f64::from(value);
            let p = value / own;
            // Rounding can leave a slightly negative value for the others.
            let weights = self.by_term[term as usize];
            let q = (weights.weight - size as f64 * value).max(0.0) / others;
            let score = p / (p + q);
            let spread = self.spread(weights);
            (p * score, Keyword { term: TermId::new(term), weight: value, score, spread, n_docs: None })
        };
        let mut keywords: Vec<(f64, Keyword)> = entries().map(ranked).collect();
        // Stable: on a tie the smaller term stays first.
        keywords.sort_by(|a, b| b.0.total_cmp(&a.0));
        keywords.truncate(n_keywords);
        // By reference: a list made in place would keep the memory of all terms.
        keywords.iter().map(|&(_, keyword)| keyword).collect()
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
    fn a_large_cluster_does_not_make_the_words_of_small_ones_generic() {
        // Term 0 is in the large cluster alone, term 2 in two small ones of six, term 1 in all.
        let offsets = vec![0, 2, 4, 6, 7, 8, 9, 10];
        let terms = vec![0, 1, 1, 2, 1, 2, 1, 1, 1, 1];
        let rows = SparseRows::from_parts(3, offsets, terms, vec![1.0; 10]).unwrap();
        let centroids = Centroids::from_rows(rows);
        let shares = TermShares::new(&centroids, &[3000, 20, 20, 20, 20, 20, 20]);
        let spread = |cluster: usize, size: usize, term: u32| {
            let keywords = shares.keywords(centroids.row(cluster), size, 5);
            keywords.iter().find(|keyword| keyword.term.number() == term).unwrap().spread
        };
        assert!(spread(0, 3000, 0).abs() < 1e-12);
        assert!((spread(1, 20, 2) - 1.0 / 6.0).abs() < 1e-12);
        assert!(spread(1, 20, 1) > 0.9);
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
