//! `baseline`: every document against every centroid, a dot product each.
//!
//! The algorithm of the paper's section 2, which all other strategies are measured against. It skips nothing.
//!
//! **Cost.** `n_docs * k` dot products an iteration, each as many table look-ups as the row has terms. Memory: the tables of
//! `lookup.rs`. Prefer it never; it is the yardstick.
//!
//! Reference: Dhillon, Modha, "Concept decompositions for large sparse text data using clustering", 2001, doi:10.1023/A:1007612920971.

use super::choice::Choice;
use super::chunks::{Slot, for_each_document};
use super::lookup::Lookup;
use super::{Assigner, Counters, Step, Strategy, Used};
use crate::update::Assignment;
use crate::vectors::Row;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Baseline {
    lookup: Lookup,
}

impl Assigner for Baseline {
    fn prepare(&mut self, step: &Step<'_>) {
        self.lookup.prepare(step);
    }

    fn assign(&mut self, step: &Step<'_>, assignment: &mut Assignment) -> Counters {
        for_each_document(
            assignment,
            || (),
            |(), counters, slot| {
                let row = step.rows.row(slot.doc);
                if row.nnz() > 0 {
                    full_scan(&self.lookup, step, row, counters, slot);
                }
            },
        )
    }

    fn used(&self) -> Used {
        Used::plainly(Strategy::Baseline)
    }

    fn memory_bytes(&self) -> usize {
        self.lookup.memory_bytes()
    }
}

/// Begins with the similarity to the old label's centroid, computed anew.
pub(super) fn own_choice(
    lookup: &Lookup,
    step: &Step<'_>,
    row: Row<'_>,
    counters: &mut Counters,
    label: u32,
) -> Choice {
    if label == Assignment::NO_LABEL || step.centroids.is_empty(label as usize) {
        return Choice::open();
    }
    counters.similarities += 1;
    Choice::from_own(label, lookup.similarity(row, label))
}

/// Compares the document with every centroid.
pub(super) fn full_scan(
    lookup: &Lookup,
    step: &Step<'_>,
    row: Row<'_>,
    counters: &mut Counters,
    slot: Slot<'_>,
) {
    let choice = own_choice(lookup, step, row, counters, *slot.label);
    scan(lookup, step, row, counters, (choice, slot), &step.live);
}

/// Compares the document with the given clusters, its own and empty ones left out.
pub(super) fn scan(
    lookup: &Lookup,
    step: &Step<'_>,
    row: Row<'_>,
    counters: &mut Counters,
    (mut choice, slot): (Choice, Slot<'_>),
    clusters: &[u32],
) {
    let old = *slot.label;
    for &cluster in clusters {
        if cluster != old && !step.centroids.is_empty(cluster as usize) {
            counters.similarities += 1;
            choice.offer(cluster, lookup.similarity(row, cluster));
        }
    }
    choice.settle(step, slot);
}
