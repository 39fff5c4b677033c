//! `ncc`: non-changing clusters, the paper's section 3.1.
//!
//! If a document's own centroid did not change, then among the centroids that did not change it is still the best: that was settled in the
//! last iteration. So the document need only be compared with the centroids that did change. Its own similarity is known.
//!
//! Sums are integers here, so "did not change" means the same bits; the paper's tolerance for rounding is not needed. The tie rule survives:
//! an unchanged centroid that ties with the own one did so before, and lost.
//!
//! **Cost.** As `baseline` in the first iterations; towards the end, when few clusters change, nearly nothing. Memory as `baseline`.
//!
//! Reference: Knittel, Koch, Ertl, DocEng 2021, section 3.1, doi:10.1145/3469096.3474937.

use super::baseline::{full_scan, scan};
use super::choice::Choice;
use super::chunks::{Slot, for_each_document};
use super::lookup::Lookup;
use super::{Assigner, Counters, Step, Strategy, Used};
use crate::update::Assignment;
use crate::vectors::Row;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Ncc {
    lookup: Lookup,
}

impl Assigner for Ncc {
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
                    scan_changed(&self.lookup, step, row, counters, slot);
                }
            },
        )
    }

    fn used(&self) -> Used {
        Used::plainly(Strategy::Ncc)
    }

    fn memory_bytes(&self) -> usize {
        self.lookup.memory_bytes()
    }
}

/// Compares the document with the changed centroids only, if its own did not change; else with all.
pub(super) fn scan_changed(
    lookup: &Lookup,
    step: &Step<'_>,
    row: Row<'_>,
    counters: &mut Counters,
    slot: Slot<'_>,
) {
    match step.movement {
        Some(movement) if step.is_unchanged(*slot.label) => {
            if movement.changed().is_empty() {
                counters.skipped_docs += 1;
                return;
            }
            let choice = Choice::from_own(*slot.label, *slot.similarity);
            scan(lookup, step, row, counters, (choice, slot), movement.changed());
        }
        _ => full_scan(lookup, step, row, counters, slot),
    }
}
