//! Integer sums of the members of each cluster, kept up to date by the documents that moved.
//!
//! A cluster's sum is a sparse vector of `i64` (see `vectors/weights.rs` for the fixed point). Only clusters that a
//! document joined or left are touched. If many documents moved, the sum is loaded into a dense scratch row, one a thread and as long as the
//! vocabulary; they are added or subtracted, and the entries that are not zero are read back in ascending order. If few moved, their entries are sorted and merged into the sum.
//!
//! **Cost.** Time: the nonzeros of the moved documents plus the entries of the touched sums. Memory: 12 bytes an entry,
//! shared terms included; `8 * n_terms` a thread for the scratch; 12 bytes a moved document while they are grouped.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::centroids::{Centroid, Centroids};
use crate::vectors::{RowWeights, UnitRows};

/// Clusters that are updated at the same time: enough for any number of threads.
const BATCH_CLUSTERS: usize = 256;

/// The integer sums of all clusters.
pub(super) struct Sums {
    list: Vec<Sum>,
    scratch: Mutex<Vec<Scratch>>,
    n_terms: usize,
}

/// One sum: entries that are not zero, in ascending order of term.
#[derive(Clone, Default)]
pub(super) struct Sum {
    terms: Arc<[u32]>,
    values: Box<[i64]>,
}

/// A document that joined or left a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) cluster: u32,
    pub(super) doc: u32,
    pub(super) joined: bool,
}

impl Change {
    /// What it adds to the sum of the cluster.
    fn entries<'a>(
        &self,
        rows: &'a UnitRows<'_>,
        weights: &'a RowWeights<'_>,
    ) -> impl Iterator<Item = (u32, i64)> + 'a {
        let (doc, joined) = (self.doc as usize, self.joined);
        rows.row(doc).iter().map(move |(term, x)| {
            let value = weights.fixed(doc, f64::from(x));
            (term, if joined { value } else { -value })
        })
    }
}

/// Entries of moved documents are merged into a sum if it has at least so many times as many.
const MERGE_SHARE: usize = 4;

struct Scratch {
    /// One number a term; all zero between uses.
    dense: Vec<i64>,
    /// Entries to be merged.
    sorted: Vec<(u32, i64)>,
    /// Terms that were zero when something was added.
    fresh: Vec<u32>,
}

impl Sums {
    pub(super) fn new(n_clusters: usize, n_terms: usize) -> Self {
        Sums { list: vec![Sum::default(); n_clusters], scratch: Mutex::default(), n_terms }
    }

    /// Applies all changes. Hands over each touched cluster, ascending, with its new centroid and what `compare` says of it; `None` where the members cancel out.
    ///
    /// Works in batches of clusters, so that old and new sums stand side by side only for a few of them.
    pub(super) fn apply<T: Send>(
        &mut self,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        mut changes: Vec<Change>,
        centroids: &mut Centroids,
        compare: impl Fn(&Centroid, &Centroid) -> T + Sync,
        mut updated: impl FnMut(&mut Centroids, usize, Option<(Centroid, T)>),
    ) {
        changes.par_sort_unstable_by_key(|change| (change.cluster, change.doc));
        let groups: Vec<&[Change]> = changes.chunk_by(|a, b| a.cluster == b.cluster).collect();
        for batch in groups.chunks(BATCH_CLUSTERS) {
            let before = &*centroids;
            let sums: Vec<(Sum, Option<(Centroid, T)>)> = batch
                .par_iter()
                .with_max_len(1)
                .map(|group| {
                    let cluster = group[0].cluster as usize;
                    let mut scratch = self.take_scratch();
                    let sum = scratch.updated(&self.list[cluster], rows, weights, group);
                    self.scratch.lock().expect("no holder panics").push(scratch);
                    let centroid = sum.to_centroid().map(|centroid| {
                        let compared = compare(before.get(cluster), &centroid);
                        (centroid, compared)
                    });
                    (sum, centroid)
                })
                .collect();
            for (group, (sum, centroid)) in batch.iter().zip(sums) {
                let cluster = group[0].cluster as usize;
                self.list[cluster] = sum;
                updated(centroids, cluster, centroid);
            }
        }
    }

    fn take_scratch(&self) -> Scratch {
        let pooled = self.scratch.lock().expect("no holder panics").pop();
        pooled.unwrap_or_else(|| Scratch {
            dense: vec![0; self.n_terms],
            sorted: Vec::new(),
            fresh: Vec::new(),
        })
    }
}

impl Scratch {
    fn updated(
        &mut self,
        sum: &Sum,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        changes: &[Change],
    ) -> Sum {
        let n_entries: usize = changes.iter().map(|change| rows.row(change.doc as usize).nnz()).sum();
        if n_entries * MERGE_SHARE <= sum.terms.len() {
            return self.merged(sum, rows, weights, changes);
        }
        let dense = &mut self.dense;
        for (&term, &value) in sum.terms.iter().zip(&sum.values) {
            dense[term as usize] = value;
        }
        for change in changes {
            for (term, value) in change.entries(rows, weights) {
                let entry = &mut dense[term as usize];
                if *entry == 0 {
                    self.fresh.push(term);
                }
                *entry += value;
            }
        }
        if self.fresh.is_empty() {
            // The usual case in later iterations: no term is new, and none vanishes.
            let values: Box<[i64]> =
                sum.terms.iter().map(|&term| std::mem::take(&mut dense[term as usize])).collect();
            if !values.contains(&0) {
                return Sum { terms: Arc::clone(&sum.terms), values };
            }
            let kept = sum.terms.iter().copied().zip(values).filter(|&(_, value)| value != 0);
            let (terms, values): (Vec<u32>, Vec<i64>) = kept.unzip();
            return Sum { terms: terms.into(), values: values.into() };
        }
        // A term can be fresh several times, and also stand in the old sum, if it passed through zero.
        self.fresh.sort_unstable();
        self.fresh.dedup();
        let mut terms = Vec::with_capacity(sum.terms.len() + self.fresh.len());
        let mut values = Vec::with_capacity(terms.capacity());
        for term in merged(&sum.terms, &self.fresh) {
            let value = std::mem::take(&mut dense[term as usize]);
            if value != 0 {
                terms.push(term);
                values.push(value);
            }
        }
        self.fresh.clear();
        Sum { terms: terms.into(), values: values.into() }
    }

    /// The same, for few changes: what lies between their terms is copied.
    fn merged(
        &mut self,
        sum: &Sum,
        rows: &UnitRows<'_>,
        weights: &RowWeights<'_>,
        changes: &[Change],
    ) -> Sum {
        self.sorted.clear();
        for change in changes {
            self.sorted.extend(change.entries(rows, weights));
        }
        self.sorted.sort_unstable_by_key(|entry| entry.0);
        let mut terms = Vec::with_capacity(sum.terms.len() + self.sorted.len());
        let mut values = Vec::with_capacity(terms.capacity());
        let (mut from, mut same_terms) = (0, true);
        for entries in self.sorted.chunk_by(|a, b| a.0 == b.0) {
            let term = entries[0].0;
            let to = from + sum.terms[from..].partition_point(|&other| other < term);
            terms.extend_from_slice(&sum.terms[from..to]);
            values.extend_from_slice(&sum.values[from..to]);
            let before = sum.terms.get(to).filter(|&&other| other == term).map(|_| sum.values[to]);
            from = to + usize::from(before.is_some());
            let value = before.unwrap_or(0) + entries.iter().map(|entry| entry.1).sum::<i64>();
            if value != 0 {
                terms.push(term);
                values.push(value);
            }
            same_terms &= before.is_some() == (value != 0);
        }
        terms.extend_from_slice(&sum.terms[from..]);
        values.extend_from_slice(&sum.values[from..]);
        let terms = if same_terms { Arc::clone(&sum.terms) } else { terms.into() };
        Sum { terms, values: values.into() }
    }
}

impl Sum {
    /// The unit vector in the sum's direction, or `None` if the sum is zero.
    fn to_centroid(&self) -> Option<Centroid> {
        if self.terms.is_empty() {
            return None;
        }
        let length = self.values.iter().map(|&v| v as f64 * v as f64).sum::<f64>().sqrt();
        let values = self.values.iter().map(|&v| (v as f64 / length) as f32).collect();
        Some(Centroid { terms: Arc::clone(&self.terms), values })
    }
}

/// Two strictly ascending lists as one; what stands in both comes twice, in a row.
fn merged<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x <= y => a.next(),
        (Some(_), None) => a.next(),
        _ => b.next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joining_and_leaving_gives_the_sum_of_those_who_stayed(
            mut docs in prop::collection::vec(prop::collection::btree_map(0u32..12, -3i8..4, 1..6), 1..12),
            stay in prop::collection::vec(any::<bool>(), 12),
            long in any::<bool>(),
        ) {
            if long {
                // So much that all other documents are merged into the sum.
                docs.push((0..12).flat_map(|term| (0..24).map(move |part| (12 + 12 * part + term, 1))).collect());
            }
            let stay = |doc: usize| stay.get(doc).copied().unwrap_or(true);
            let rows = UnitRows::new(SparseRows::from_maps(300, &docs));
            let change = |doc: usize, joined| Change { cluster: 0, doc: doc as u32, joined };
            let mut centroids = Centroids::new(300, vec![Centroid::default()]);
            let mut apply = |sums: &mut Sums, changes| {
                sums.apply(&rows, &RowWeights::UNIFORM, changes, &mut centroids, |_, _| (), |_, _, _| ());
            };

            let mut incremental = Sums::new(1, 300);
            apply(&mut incremental, (0..docs.len()).map(|doc| change(doc, true)).collect());
            apply(&mut incremental, (0..docs.len()).filter(|&d| !stay(d)).map(|doc| change(doc, false)).collect());
            let mut direct = Sums::new(1, 300);
            apply(&mut direct, (0..docs.len()).filter(|&d| stay(d)).map(|doc| change(doc, true)).collect());

            prop_assert_eq!(&incremental.list[0].terms, &direct.list[0].terms);
            prop_assert_eq!(&incremental.list[0].values, &direct.list[0].values);
            prop_assert!(incremental.list[0].values.iter().all(|&v| v != 0));
            prop_assert!(incremental.scratch.lock().unwrap().iter().all(|s| s.dense.iter().all(|&v| v == 0)));
        }
    }

    #[test]
    fn a_sum_of_nothing_has_no_direction() {
        assert!(Sum::default().to_centroid().is_none());
    }
}
