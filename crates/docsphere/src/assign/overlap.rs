//! The paper's dot-product index: the general map G and, for each threshold, the map P (section 3.2).
//!
//! G lists for each term the centroids that have it. `P(lambda)` lists for each term the centroids for which a row that
//! has this term could reach a similarity of lambda, each with the *minimum overlap count*: how many terms the row must share
//! with the centroid if this is the shared term with the greatest centroid value.
//!
//! A query counts overlaps through G, then reads `P(lambda)` and keeps the centroids whose count is met. Every
//! centroid with a similarity of at least lambda is among them: by the lemma in `bounds.rs` the squares of the shared entries reach
//! the threshold; let p be the shared entry that stands first in the centroid's order. All shared entries stand at p or
//! later, and no selection of entries from p onwards reaches the threshold with fewer entries than the window that starts at p,
//! for the entries descend. So the minimum count at p is met, and p is one of the row's terms.
//!
//! **Cost.** Build: `O(m log m)` for a centroid with m entries, for the sorting; the windows are linear. Memory: 4 bytes an entry
//! for G, 8 for each threshold that the entry can serve, and `8 * (n_terms + 1)` for each map's directory.

use rayon::prelude::*;

use super::bounds::{min_overlap_counts, min_squared_sum};
use crate::update::Centroids;
use crate::vectors::Row;

/// The maps G and P for one set of centroids.
pub(super) struct OverlapIndex {
    general: TermMap<u32>,
    thresholds: Vec<Threshold>,
}

struct Threshold {
    lambda: f64,
    map: TermMap<Entry>,
}

/// An entry of P.
#[derive(Clone, Copy, Default)]
struct Entry {
    cluster: u32,
    min_overlap: u32,
}

/// Lists by term, one after the other.
struct TermMap<T> {
    offsets: Vec<u64>,
    entries: Vec<T>,
}

/// What a query needs to work: the counts C of the paper. All counts are zero between queries.
pub(super) struct OverlapCounts {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl OverlapIndex {
    /// Builds G, and P for each of the ascending `lambdas`. `max_row_nnz` bounds the terms of the rows that will be asked for.
    pub(super) fn build(centroids: &Centroids, lambdas: &[f64], max_row_nnz: usize) -> Self {
        let n_terms = centroids.n_terms();
        let general = (0..centroids.n_clusters())
            .flat_map(|cluster| centroids.row(cluster).terms.iter().map(move |&term| (term, cluster as u32)));
        let ordered: Vec<Ordered> =
            (0..centroids.n_clusters()).into_par_iter().map(|j| Ordered::new(centroids.row(j))).collect();
        // One after the other, so that what is needed to build a map is there once.
        let thresholds = lambdas.iter().map(|&lambda| {
            let mut entries = Vec::new();
            for (cluster, ordered) in ordered.iter().enumerate() {
                let squared_sum = min_squared_sum(lambda, max_row_nnz, ordered.terms.len());
                min_overlap_counts(&ordered.squares, squared_sum, |position, min_overlap| {
                    entries.push((ordered.terms[position], Entry { cluster: cluster as u32, min_overlap }));
                });
            }
            Threshold { lambda, map: TermMap::new(n_terms, entries.iter().copied()) }
        });
        OverlapIndex { general: TermMap::new(n_terms, general), thresholds: thresholds.collect() }
    }

    /// Collects into `candidates` every cluster whose centroid may have a similarity of at least `own` with the row, each once.
    /// Without `own`, or below the smallest lambda: every cluster that shares a term. Returns the number of postings read.
    pub(super) fn candidates(
        &self,
        row: Row<'_>,
        own: Option<f64>,
        counts: &mut OverlapCounts,
        candidates: &mut Vec<u32>,
    ) -> u64 {
        candidates.clear();
        // #1: count overlaps through G.
        let mut n_postings = counts.count(row, &self.general);
        // The highest threshold that is not above the similarity that any winner must reach.
        let threshold = own.and_then(|own| self.thresholds.iter().rev().find(|t| t.lambda <= own));
        match threshold {
            None => candidates.extend_from_slice(&counts.touched),
            // #2: read P and keep those that meet their minimum overlap count.
            Some(threshold) => {
                for &term in row.terms {
                    let entries = threshold.map.get(term);
                    n_postings += entries.len() as u64;
                    for entry in entries {
                        let count = &mut counts.counts[entry.cluster as usize];
                        if *count >= entry.min_overlap {
                            candidates.push(entry.cluster);
                            // So that no other term finds it again: every minimum is at least 1.
                            *count = 0;
                        }
                    }
                }
            }
        }
        counts.clear();
        n_postings
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.general.memory_bytes() + self.thresholds.iter().map(|t| t.map.memory_bytes()).sum::<usize>()
    }
}

/// A centroid's terms and squared values, greatest value first.
struct Ordered {
    terms: Vec<u32>,
    squares: Vec<f64>,
}

impl Ordered {
    fn new(centroid: Row<'_>) -> Self {
        let mut pairs: Vec<(u32, f32)> = centroid.iter().collect();
        pairs.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let square = |&(_, value): &(u32, f32)| f64::from(value) * f64::from(value);
        Ordered {
            terms: pairs.iter().map(|pair| pair.0).collect(),
            squares: pairs.iter().map(square).collect(),
        }
    }
}

impl<T: Copy + Default> TermMap<T> {
    fn new(n_terms: usize, entries: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        // Counting sort. offsets[t + 2] counts term t; then offsets[t + 1] runs from the start of term t to its end, which is the start of term t + 1.
        let mut offsets = vec![0u64; n_terms + 2];
        for (term, _) in entries.clone() {
            offsets[term as usize + 2] += 1;
        }
        for term in 2..offsets.len() {
            offsets[term] += offsets[term - 1];
        }
        let mut list = vec![T::default(); offsets[n_terms + 1] as usize];
        for (term, entry) in entries {
            let position = &mut offsets[term as usize + 1];
            list[*position as usize] = entry;
            *position += 1;
        }
        offsets.pop();
        TermMap { offsets, entries: list }
    }

    #[inline]
    fn get(&self, term: u32) -> &[T] {
        &self.entries[self.offsets[term as usize] as usize..self.offsets[term as usize + 1] as usize]
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&self.offsets[..]) + size_of_val(&self.entries[..])
    }
}

impl OverlapCounts {
    pub(super) fn new(n_clusters: usize) -> Self {
        OverlapCounts { counts: vec![0; n_clusters], touched: Vec::new() }
    }

    fn count(&mut self, row: Row<'_>, general: &TermMap<u32>) -> u64 {
        let mut n_postings = 0;
        for &term in row.terms {
            let clusters = general.get(term);
            n_postings += clusters.len() as u64;
            for &cluster in clusters {
                let count = &mut self.counts[cluster as usize];
                if *count == 0 {
                    self.touched.push(cluster);
                }
                *count += 1;
            }
        }
        n_postings
    }

    fn clear(&mut self) {
        for &cluster in &self.touched {
            self.counts[cluster as usize] = 0;
        }
        self.touched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::reference_similarity;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;

    type Entries = Vec<std::collections::BTreeMap<u32, f32>>;

    fn matrix(n_rows: std::ops::Range<usize>) -> impl Strategy<Value = Entries> {
        let value = prop_oneof![Just(1.0f32), Just(2.0f32), 0.001f32..3.0];
        prop::collection::vec(prop::collection::btree_map(0u32..30, value, 1..12), n_rows)
    }

    fn sparse(entries: &Entries) -> SparseRows<'static> {
        let mut offsets = vec![0u64];
        let (mut terms, mut values) = (Vec::new(), Vec::new());
        for row in entries {
            terms.extend(row.keys());
            values.extend(row.values());
            offsets.push(terms.len() as u64);
        }
        SparseRows::from_parts(30, offsets, terms, values).unwrap()
    }

    proptest! {
        /// The index's promise: whoever reaches the baseline similarity is a candidate, and nobody twice.
        #[test]
        fn no_centroid_that_reaches_the_similarity_is_missed(
            rows in matrix(1..8),
            centroids in matrix(1..12),
            lambdas in prop::collection::vec(0.01f64..1.0, 1..5),
            exact in any::<bool>(),
        ) {
            let rows = UnitRows::new(sparse(&rows));
            let centroids = Centroids::from_rows(sparse(&centroids));
            let mut lambdas = lambdas;
            if exact {
                // Thresholds that equal similarities: the hardest case for rounding.
                lambdas = (0..centroids.n_clusters()).map(|j| reference_similarity(rows.row(0), centroids.row(j))).collect();
                lambdas.retain(|&l| l > 0.0);
            }
            lambdas.sort_unstable_by(f64::total_cmp);
            let index = OverlapIndex::build(&centroids, &lambdas, rows.max_row_nnz());
            let mut counts = OverlapCounts::new(centroids.n_clusters());
            let mut candidates = Vec::new();
            for row in rows.iter() {
                let similarity: Vec<f64> =
                    (0..centroids.n_clusters()).map(|j| reference_similarity(row, centroids.row(j))).collect();
                for &own in &similarity {
                    index.candidates(row, Some(own), &mut counts, &mut candidates);
                    for (cluster, &s) in similarity.iter().enumerate() {
                        let times = candidates.iter().filter(|&&c| c as usize == cluster).count();
                        prop_assert!(times <= 1);
                        prop_assert!(times == 1 || s < own || (s == 0.0 && own == 0.0));
                    }
                    prop_assert!(counts.counts.iter().all(|&count| count == 0) && counts.touched.is_empty());
                }
            }
        }
    }
}
