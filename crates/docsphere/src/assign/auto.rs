//! `auto`: the strategy that is expected to be the fastest.
//!
//! With [`MIN_DRIFT_CLUSTERS`] clusters or more that is `drift`, in every iteration, unless there
//! are negative values. With fewer, the preparations of `drift` do not pay off, and the choice is
//! made in each iteration.
//!
//! `inverted` is the fastest way to compare all documents with all centroids. Once most clusters no
//! longer change, `ncc` has less to do. Both need nothing from earlier iterations but labels and
//! similarities, so the choice is free each time. The estimate:
//!
//! - `inverted`: one unit per posting that will be read (the sum over terms of document frequency
//!   times centroid frequency, an exact count), and an eighth per pair of document and centroid,
//!   for clearing and searching the accumulators;
//! - `ncc`: [`PROBE_COST`] units per term of a document times the number of centroids with which it
//!   must be compared, and [`TABLE_COST`] per entry of the centroids if their tables must be built
//!   first.
//!
//! **Cost.** `4 * n_terms` bytes for the document frequencies, one pass over all terms, and one
//! over the entries of the centroids per iteration.

use std::ops::Range;
use std::path::PathBuf;

use super::drift::Drift;
use super::inverted::Inverted;
use super::ncc::Ncc;
use super::{Assigned, Assigner, Rivals, ShardStep, Wanted};
use crate::error::Result;
use crate::labels::Assignment;
use crate::simd::Level;

/// The number of clusters from which `drift` is the fastest: at k = 5 it is slightly faster than
/// `inverted` on abstracts and on tweets, at k = 2 slower on both.
pub(super) const MIN_DRIFT_CLUSTERS: usize = 6;

/// The cost of a table lookup, in postings read: 2 to 5 on arXiv abstracts for k from 10 to 500
/// (`docsphere-bench speed`), rounded up, since a wrong change of strategy is expensive.
const PROBE_COST: f64 = 6.0;

/// The cost per centroid entry of building its table.
const TABLE_COST: f64 = 16.0;

/// The cost of a pair of document and centroid, in postings read.
const PAIR_COST: f64 = 0.125;

/// See the [module](self).
pub(super) struct Auto {
    drift: Drift,
    inverted: Inverted,
    ncc: Ncc,
    doc_frequencies: Vec<u32>,
    picked: Pick,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Pick {
    #[default]
    Inverted,
    Ncc,
    Drift,
}

impl Auto {
    pub(super) fn new(level: Level, folder: Option<PathBuf>) -> Self {
        Auto {
            drift: Drift::new(level, folder),
            inverted: Inverted::default(),
            ncc: Ncc::default(),
            doc_frequencies: Vec::new(),
            picked: Pick::default(),
        }
    }

    fn picked(&mut self) -> &mut dyn Assigner {
        match self.picked {
            Pick::Inverted => &mut self.inverted,
            Pick::Ncc => &mut self.ncc,
            Pick::Drift => &mut self.drift,
        }
    }

    fn pick(&mut self, step: &ShardStep<'_>, n_unsettled: u64) -> Pick {
        if step.live.len() >= MIN_DRIFT_CLUSTERS && step.allows_index() {
            return Pick::Drift;
        }
        let Some(movement) = step.movement else { return Pick::Inverted };
        let n_docs = step.rows.n_nonzero_rows() as f64;
        let n_live = step.live.len() as f64;

        if self.doc_frequencies.is_empty() {
            self.doc_frequencies = step.rows.doc_frequencies();
        }
        let n_postings: f64 = (0..step.centroids.n_clusters())
            .flat_map(|cluster| step.centroids.row(cluster).terms)
            .map(|&term| f64::from(self.doc_frequencies[term as usize]))
            .sum();
        let inverted = n_postings + PAIR_COST * n_docs * n_live;

        let n_in_changed = n_unsettled as f64;
        let n_pairs = n_in_changed * n_live + (n_docs - n_in_changed) * movement.changed().len() as f64;
        let n_stale = if self.picked == Pick::Ncc { 0 } else { step.centroids.nnz() };
        let ncc = PROBE_COST * n_pairs * step.rows.nnz() as f64 / n_docs + TABLE_COST * n_stale as f64;
        if ncc < inverted { Pick::Ncc } else { Pick::Inverted }
    }
}

impl Assigner for Auto {
    fn begin(&mut self, step: &ShardStep<'_>, n_unsettled: u64) -> Result<()> {
        let before = self.picked;
        self.picked = self.pick(step, n_unsettled);
        // The data of the other strategies is of no use later: free their memory.
        if self.picked != Pick::Inverted {
            self.inverted = Inverted::default();
        }
        if self.picked != Pick::Ncc {
            self.ncc = Ncc::default();
        }
        if self.picked != Pick::Drift {
            self.drift.clear();
        } else if before != Pick::Drift {
            self.drift.attach(step.rows)?;
        }
        self.picked().begin(step, n_unsettled)
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        self.picked().assign(step, assignment)
    }

    fn in_order(&mut self, step: &ShardStep<'_>, places: Range<usize>) -> Vec<u32> {
        self.picked().in_order(step, places)
    }

    fn rivals(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
        self.picked().rivals(step, wanted, labels)
    }

    fn rest(&mut self) {
        self.picked().rest();
    }

    fn memory_bytes(&self) -> usize {
        self.drift.memory_bytes()
            + self.inverted.memory_bytes()
            + self.ncc.memory_bytes()
            + size_of_val(&self.doc_frequencies[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::Step;
    use crate::centroids::Centroids;
    use crate::simd::Simd;
    use crate::update::Follower;
    use crate::vectors::{SparseRows, UnitRows};

    /// Rows over many common terms and k clusters, of which the last update changed `n_moved` by
    /// moving one document each.
    fn picked_after_moving(n_moved: usize, first_value: f32) -> Pick {
        let (n_docs, k, n_terms) = (2_000usize, 200usize, 60usize);
        let terms: Vec<u32> = (0..n_docs)
            .flat_map(|doc| {
                let mut terms: Vec<u32> = (0..10).map(|i| ((doc * 7 + i * i + i) % n_terms) as u32).collect();
                terms.sort_unstable();
                terms.dedup();
                terms.truncate(6);
                terms
            })
            .collect();
        let n = terms.len() / n_docs;
        assert_eq!(n * n_docs, terms.len(), "every row has the same number of terms");
        let offsets: Vec<u64> = (0..=n_docs).map(|doc| (doc * n) as u64).collect();
        let mut values = vec![1.0; terms.len()];
        values[0] = first_value;
        let rows = UnitRows::new(SparseRows::from_parts(n_terms, offsets, terms, values).unwrap());
        let mut labels: Vec<u32> = (0..n_docs).map(|doc| (doc % k) as u32).collect();
        let mut centroids = Centroids::from_rows(
            SparseRows::from_parts(n_terms, vec![0u64; k + 1], Vec::new(), Vec::new()).unwrap(),
        );
        let mut follower = Follower::new(n_docs, k);
        follower.update(&rows, &labels, &mut centroids);
        for (doc, label) in labels.iter_mut().enumerate().take(n_moved) {
            *label = ((doc + 1) % k) as u32;
        }
        let movement = follower.update(&rows, &labels, &mut centroids);
        let mut auto = Auto { picked: Pick::Ncc, ..Auto::new(Level::of(Simd::Scalar).unwrap(), None) };
        let step = Step::new(1, &centroids, Some(&movement), None);
        let n_unsettled = labels.iter().filter(|&&label| !step.is_settled(label)).count() as u64;
        auto.pick(&ShardStep::new(&step, &rows, &[]), n_unsettled)
    }

    #[test]
    fn drift_is_picked_unless_there_are_negative_values_then_ncc_or_inverted() {
        assert!(picked_after_moving(1, -1.0) == Pick::Ncc);
        assert!(picked_after_moving(200, -1.0) == Pick::Inverted);
        assert!(picked_after_moving(1, 1.0) == Pick::Drift);
    }
}
