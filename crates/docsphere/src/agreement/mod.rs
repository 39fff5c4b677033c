//! How far two clusterings of the same documents agree, and how well one finds known classes.
//!
//! Everything is a function of the [`Contingency`]: how many documents two clusterings have in
//! common, by cluster. `matching.rs` pairs clusters with classes for the accuracy.
//!
//! **Cost.** 8 bytes per document, and a sort of them; then time and memory by the number of pairs
//! of clusters that have a document in common.
//!
//! References: Hubert and Arabie, "Comparing partitions", Journal of Classification 2, 1985,
//! doi:10.1007/BF01908075; Vinh, Epps and Bailey, "Information theoretic measures for clusterings
//! comparison", Journal of Machine Learning Research 11, 2010.

mod matching;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::error::{ErrorKind, Result};
use crate::labels::Labels;

/// How far two clusterings agree. See [`agreement`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// The adjusted Rand index: 1 for the same clusters, about 0 for clusters by chance.
    pub ari: f64,
    /// The normalised mutual information, by the arithmetic mean of the entropies: from 0 to 1. It
    /// is above 0 by chance, too, and the more so the more clusters there are.
    pub nmi: f64,
}

/// How far two clusterings of the same documents agree, whatever the numbers of their clusters are.
/// Documents without a label in either do not count.
///
/// ```
/// use docsphere::agreement;
///
/// let found = agreement(&vec![0, 0, 1, 1, -1].into(), &vec![7, 7, 2, 2, 2].into())?;
/// assert_eq!((found.ari, found.nmi), (1.0, 1.0));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if the numbers of documents differ.
pub fn agreement(a: &Labels, b: &Labels) -> Result<Agreement> {
    Ok(Contingency::new(a, b)?.agreement())
}

/// The documents that two clusterings have in common, by cluster.
///
/// ```
/// use docsphere::Contingency;
///
/// let (clusters, classes) = (vec![0, 0, 0, 1, 2].into(), vec![5, 5, 6, 6, 6].into());
/// let both = Contingency::new(&clusters, &classes)?;
/// assert_eq!(both.cells()[0], ((0, 5), 2));
/// assert_eq!((both.purity(), both.accuracy()), (0.8, 0.6));
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Contingency {
    cells: Vec<((i32, i32), u64)>,
    of_a: BTreeMap<i32, u64>,
    of_b: BTreeMap<i32, u64>,
    n_docs: u64,
}

impl Contingency {
    /// Counts the documents by their labels. Documents without a label in either do not count.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if the numbers of documents differ.
    pub fn new(a: &Labels, b: &Labels) -> Result<Self> {
        if a.len() != b.len() {
            let (expected, got) = (format!("{}, as many as of the other", a.len()), b.len().to_string());
            return Err(ErrorKind::Mismatch { what: "the number of labels", expected, got }.into());
        }
        let both = a.as_slice().iter().zip(b.as_slice()).filter(|(a, b)| **a >= 0 && **b >= 0);
        let mut pairs: Vec<(i32, i32)> = both.map(|(&a, &b)| (a, b)).collect();
        pairs.par_sort_unstable();
        let cells: Vec<((i32, i32), u64)> =
            pairs.chunk_by(|x, y| x == y).map(|same| (same[0], same.len() as u64)).collect();
        let (mut of_a, mut of_b) = (BTreeMap::new(), BTreeMap::new());
        for &((a, b), count) in &cells {
            *of_a.entry(a).or_insert(0) += count;
            *of_b.entry(b).or_insert(0) += count;
        }
        Ok(Contingency { cells, of_a, of_b, n_docs: pairs.len() as u64 })
    }

    /// The number of documents that have a label in both.
    pub fn n_docs(&self) -> u64 {
        self.n_docs
    }

    /// Pairs of labels that occur, ascending, with their numbers of documents.
    pub fn cells(&self) -> &[((i32, i32), u64)] {
        &self.cells
    }

    /// The labels of the first, with their numbers of documents.
    pub fn sizes_of_first(&self) -> &BTreeMap<i32, u64> {
        &self.of_a
    }

    /// The labels of the second, with their numbers of documents.
    pub fn sizes_of_second(&self) -> &BTreeMap<i32, u64> {
        &self.of_b
    }

    /// Adjusted Rand index and mutual information.
    pub fn agreement(&self) -> Agreement {
        Agreement { ari: self.ari(), nmi: self.nmi() }
    }

    /// The share of the documents that are of the most frequent class of their cluster, if the
    /// first labels are clusters and the second are classes. It rises with the number of clusters,
    /// up to 1 for clusters of one document each. 1 without any document.
    pub fn purity(&self) -> f64 {
        let best = self
            .cells
            .chunk_by(|x, y| x.0.0 == y.0.0)
            .map(|cells| cells.iter().map(|cell| cell.1).max().unwrap_or_default());
        self.share(best.sum())
    }

    /// The share of the documents whose cluster stands for their class, when every cluster stands
    /// for at most one class and every class for at most one cluster, in the best way. Also called
    /// clustering accuracy. 1 without any document.
    pub fn accuracy(&self) -> f64 {
        self.share(matching::best_total(&self.cells))
    }

    fn share(&self, n: u64) -> f64 {
        if self.n_docs == 0 { 1.0 } else { n as f64 / self.n_docs as f64 }
    }

    fn ari(&self) -> f64 {
        let pairs = |count: u64| u128::from(count) * u128::from(count.saturating_sub(1)) / 2;
        let together: u128 = self.cells.iter().map(|cell| pairs(cell.1)).sum();
        let [in_a, in_b] = [&self.of_a, &self.of_b]
            .map(|sizes| sizes.values().map(|&size| pairs(size)).sum::<u128>() as f64);
        if pairs(self.n_docs) == 0 {
            return 1.0;
        }
        let by_chance = in_a * in_b / pairs(self.n_docs) as f64;
        let most = f64::midpoint(in_a, in_b);
        // One cluster on both sides, or none with two documents: they are the same.
        if most == by_chance { 1.0 } else { (together as f64 - by_chance) / (most - by_chance) }
    }

    fn nmi(&self) -> f64 {
        let n = self.n_docs as f64;
        let entropy = |sizes: &BTreeMap<i32, u64>| {
            -sizes.values().map(|&size| size as f64 / n * (size as f64 / n).ln()).sum::<f64>()
        };
        let (in_a, in_b) = (entropy(&self.of_a), entropy(&self.of_b));
        if in_a == 0.0 && in_b == 0.0 {
            return 1.0;
        }
        let shared = |&((a, b), count): &((i32, i32), u64)| {
            let count = count as f64;
            count / n * (n * count / (self.of_a[&a] as f64 * self.of_b[&b] as f64)).ln()
        };
        let mutual: f64 = self.cells.iter().map(shared).sum();
        (mutual / f64::midpoint(in_a, in_b)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The definition of the adjusted Rand index by all pairs of documents.
        #[test]
        fn the_rand_index_is_that_of_all_pairs(
            labels in prop::collection::vec((-1i32..4, -1i32..5), 2..30),
        ) {
            let (a, b): (Vec<i32>, Vec<i32>) = labels.iter().copied().unzip();
            let known: Vec<(i32, i32)> = labels.into_iter().filter(|(a, b)| *a >= 0 && *b >= 0).collect();
            let (mut both, mut in_a, mut in_b, mut all) = (0.0, 0.0, 0.0, 0.0);
            for (place, x) in known.iter().enumerate() {
                for y in &known[..place] {
                    let (same_a, same_b) = (f64::from(x.0 == y.0), f64::from(x.1 == y.1));
                    both += same_a * same_b;
                    in_a += same_a;
                    in_b += same_b;
                    all += 1.0;
                }
            }
            let found = agreement(&a.clone().into(), &b.clone().into()).unwrap();
            if all > 0.0 && (in_a + in_b) / 2.0 != in_a * in_b / all {
                let expected = (both - in_a * in_b / all) / ((in_a + in_b) / 2.0 - in_a * in_b / all);
                prop_assert!((found.ari - expected).abs() < 1e-12);
            } else {
                prop_assert_eq!(found.ari, 1.0);
            }
            let other = agreement(&b.into(), &a.into()).unwrap();
            prop_assert!((found.ari - other.ari).abs() < 1e-12 && (found.nmi - other.nmi).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&found.nmi));
        }
    }

    #[test]
    fn known_values() {
        // scikit-learn: adjusted_rand_score and normalized_mutual_info_score.
        let found = agreement(&vec![0, 0, 1, 1].into(), &vec![0, 0, 1, 2].into()).unwrap();
        assert!((found.ari - 0.571_428_571_428_571_4).abs() < 1e-12, "{}", found.ari);
        assert!((found.nmi - 0.8).abs() < 1e-12, "{}", found.nmi);
        let opposed = agreement(&vec![0, 0, 1, 1].into(), &vec![0, 1, 0, 1].into()).unwrap();
        assert!((opposed.ari + 0.5).abs() < 1e-12 && opposed.nmi == 0.0);
        let error = agreement(&vec![0].into(), &vec![0, 1].into()).unwrap_err();
        assert_eq!(error.to_string(), "the number of labels must be 1, as many as of the other, got 2");
    }
}
