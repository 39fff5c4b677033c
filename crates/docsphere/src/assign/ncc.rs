//! `ncc`: non-changing clusters, the paper's section 3.1.
//!
//! If a document's own centroid did not change, then it is still the best among the unchanged
//! centroids: that was settled in the last iteration. So the document need only be compared with
//! the centroids that did change. Its own similarity is known.
//!
//! Sums are integers here, so "did not change" means the same bits; the paper's tolerance for
//! rounding is not needed. The tie rule still holds: an unchanged centroid that ties with the own
//! one did so before, and lost.
//!
//! **Cost.** As `baseline` in the first iterations; towards the end, when few clusters change,
//! nearly nothing. Memory as `baseline`.
//!
//! Reference: Knittel, Koch, Ertl, DocEng 2021, section 3.1, doi:10.1145/3469096.3474937.

use super::documents::for_each_document;
use super::lookup::Lookup;
use super::paper::Scan;
use super::{Assigned, Assigner, ShardStep};
use crate::error::Result;
use crate::labels::Assignment;
use crate::record::Strategy;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Ncc {
    lookup: Lookup,
}

impl Assigner for Ncc {
    fn begin(&mut self, step: &ShardStep<'_>, _n_unsettled: u64) -> Result<()> {
        self.lookup.prepare(step);
        Ok(())
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        let counters = for_each_document(
            step,
            assignment,
            || (),
            |(), counters, slot| {
                if let Some(scan) = Scan::new(&self.lookup, step, slot) {
                    scan.changed(counters);
                }
            },
        );
        Ok(Assigned::plainly(Strategy::Ncc, counters))
    }

    fn memory_bytes(&self) -> usize {
        self.lookup.memory_bytes()
    }
}
