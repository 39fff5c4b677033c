//! The paper's dot-product index: the general map G and, for each threshold, the map P (section
//! 3.2).
//!
//! G lists for each term the centroids that have it. `P(lambda)` lists for each term the centroids
//! for which a row that has this term could reach a similarity of lambda, each with the *minimum
//! overlap count*: how many terms the row must share with the centroid if this is the shared term
//! with the greatest centroid value.
//!
//! A query counts overlaps through G, then reads `P(lambda)` and keeps the centroids whose count is
//! met. Every centroid with a similarity of at least lambda is among them: by the lemma in
//! `bounds.rs` the squares of the shared entries reach the threshold; let p be the shared entry
//! that comes first in the centroid's order. All shared entries are at p or later, and no selection
//! of entries from p onwards reaches the threshold with fewer entries than the window that starts
//! at p, because the entries descend. So the minimum count at p is met, and p is one of the row's
//! terms.
//!
//! **Cost.** Build: `O(m log m)` for a centroid with m entries, for the sorting; the windows are
//! linear. Memory: 4 bytes per entry for G, 8 for each threshold that the entry can serve, and
//! `8 * (n_terms + 1)` for each map's directory.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;

use crate::assign::bounds::{min_overlap_counts, min_squared_sum};
use crate::by_key::ByKey;
use crate::centroids::Centroids;
use crate::record::IndexUse;
use crate::vectors::Row;

/// The maps G and P for one set of centroids.
pub(in crate::assign) struct OverlapIndex {
    n_clusters: usize,
    general: ByKey<u32>,
    thresholds: Vec<Threshold>,
    build_seconds: f64,
    /// Queries without a threshold, then those with each threshold.
    asked: Vec<Asked<AtomicU64>>,
}

/// The number of queries, and the number of candidates that they returned.
#[derive(Default)]
struct Asked<N> {
    docs: N,
    candidates: N,
}

struct Threshold {
    lambda: f64,
    map: ByKey<Entry>,
}

/// An entry of P.
#[derive(Clone, Copy, Default)]
struct Entry {
    cluster: u32,
    min_overlap: u32,
}

/// Queries the index row by row. When dropped, it reports its counts to the index.
pub(in crate::assign) struct Query<'a> {
    index: &'a OverlapIndex,
    /// The counts C of the paper. All are zero between rows.
    counts: Vec<u32>,
    touched: Vec<u32>,
    candidates: Vec<u32>,
    asked: Vec<Asked<u64>>,
}

impl OverlapIndex {
    /// Builds G, and P for each of the ascending `lambdas`. `max_row_nnz` bounds the number of
    /// terms of the rows that will be queried.
    pub(in crate::assign) fn build(centroids: &Centroids, lambdas: &[f64], max_row_nnz: usize) -> Self {
        let start = Instant::now();
        let n_terms = centroids.n_terms();
        let general = (0..centroids.n_clusters())
            .flat_map(|cluster| centroids.row(cluster).terms.iter().map(move |&term| (term, cluster as u32)));
        let ordered: Vec<Ordered> =
            (0..centroids.n_clusters()).into_par_iter().map(|j| Ordered::new(centroids.row(j))).collect();
        // One after the other, so that the memory for building a map is needed only once.
        let thresholds = lambdas.iter().map(|&lambda| {
            let mut entries = Vec::new();
            for (cluster, ordered) in ordered.iter().enumerate() {
                let squared_sum = min_squared_sum(lambda, max_row_nnz, ordered.terms.len());
                min_overlap_counts(&ordered.squares, squared_sum, |position, min_overlap| {
                    entries.push((ordered.terms[position], Entry { cluster: cluster as u32, min_overlap }));
                });
            }
            Threshold { lambda, map: ByKey::new(n_terms, entries.iter().copied()) }
        });
        let thresholds: Vec<Threshold> = thresholds.collect();
        OverlapIndex {
            n_clusters: centroids.n_clusters(),
            general: ByKey::new(n_terms, general),
            asked: (0..=thresholds.len()).map(|_| Asked::default()).collect(),
            thresholds,
            build_seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// The query state of a thread.
    pub(in crate::assign) fn query(&self) -> Query<'_> {
        Query {
            index: self,
            counts: vec![0; self.n_clusters],
            touched: Vec::new(),
            candidates: Vec::new(),
            asked: self.asked.iter().map(|_| Asked::default()).collect(),
        }
    }

    /// The cost of building the index, and the counts of all queries that have ended.
    pub(in crate::assign) fn index_use(&self) -> IndexUse {
        let load = |number: fn(&Asked<AtomicU64>) -> &AtomicU64| {
            self.asked.iter().map(|asked| number(asked).load(Relaxed)).collect()
        };
        IndexUse {
            build_seconds: self.build_seconds,
            lambdas: self.thresholds.iter().map(|threshold| threshold.lambda).collect(),
            docs: load(|asked| &asked.docs),
            candidates: load(|asked| &asked.candidates),
        }
    }

    pub(in crate::assign) fn memory_bytes(&self) -> usize {
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

impl Query<'_> {
    /// Every cluster whose centroid may have a similarity of at least `own` to the row, each once;
    /// without `own`, or below the smallest lambda: every cluster that shares a term. Also returns
    /// the number of postings read.
    pub(in crate::assign) fn candidates(&mut self, row: Row<'_>, own: Option<f64>) -> (&mut Vec<u32>, u64) {
        self.candidates.clear();
        // #1: count overlaps through G.
        let mut n_postings = self.count(row);
        // The highest threshold that is not above the similarity that any winner must reach.
        let thresholds = &self.index.thresholds;
        let position = own.and_then(|own| thresholds.iter().rposition(|t| t.lambda <= own));
        match position {
            None => self.candidates.extend_from_slice(&self.touched),
            // #2: read P and keep those that meet their minimum overlap count.
            Some(position) => {
                for &term in row.terms {
                    let entries = thresholds[position].map.of(term);
                    n_postings += entries.len() as u64;
                    for entry in entries {
                        let count = &mut self.counts[entry.cluster as usize];
                        if *count >= entry.min_overlap {
                            self.candidates.push(entry.cluster);
                            // So that no other term finds it again: every minimum is at least 1.
                            *count = 0;
                        }
                    }
                }
            }
        }
        self.clear();
        let asked = &mut self.asked[position.map_or(0, |position| position + 1)];
        asked.docs += 1;
        asked.candidates += self.candidates.len() as u64;
        (&mut self.candidates, n_postings)
    }

    fn count(&mut self, row: Row<'_>) -> u64 {
        let mut n_postings = 0;
        for &term in row.terms {
            let clusters = self.index.general.of(term);
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

impl Drop for Query<'_> {
    fn drop(&mut self) {
        for (ours, all) in self.asked.iter().zip(&self.index.asked) {
            all.docs.fetch_add(ours.docs, Relaxed);
            all.candidates.fetch_add(ours.candidates, Relaxed);
        }
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
        /// The index's guarantee: every centroid that reaches the baseline similarity is a
        /// candidate, exactly once.
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
            let mut query = index.query();
            let mut n_asked = 0;
            for row in rows.iter() {
                let similarity: Vec<f64> =
                    (0..centroids.n_clusters()).map(|j| reference_similarity(row, centroids.row(j))).collect();
                for &own in &similarity {
                    let (candidates, _) = query.candidates(row, Some(own));
                    n_asked += 1;
                    for (cluster, &s) in similarity.iter().enumerate() {
                        let times = candidates.iter().filter(|&&c| c as usize == cluster).count();
                        prop_assert!(times <= 1);
                        prop_assert!(times == 1 || s < own || (s == 0.0 && own == 0.0));
                    }
                    prop_assert!(query.counts.iter().all(|&count| count == 0) && query.touched.is_empty());
                }
            }
            drop(query);
            prop_assert_eq!(index.index_use().docs.iter().sum::<u64>(), n_asked);
        }
    }
}
