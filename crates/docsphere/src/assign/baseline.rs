//! `baseline`: every document against every centroid, with one dot product per pair.
//!
//! The algorithm of the paper's section 2, against which all other strategies are measured. It
//! skips nothing.
//!
//! **Cost.** `n_docs * k` dot products per iteration, each with as many table lookups as the row
//! has terms. Memory: the tables of `lookup.rs`. Never the best choice; it serves as the yardstick.
//!
//! Reference: Dhillon, Modha, "Concept decompositions for large sparse text data using clustering",
//! 2001, doi:10.1023/A:1007612920971.

use super::documents::for_each_document;
use super::lookup::Lookup;
use super::paper::Scan;
use super::{Assigned, Assigner, ShardStep};
use crate::error::Result;
use crate::labels::Assignment;
use crate::record::Strategy;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Baseline {
    lookup: Lookup,
}

impl Assigner for Baseline {
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
                    scan.all(counters);
                }
            },
        );
        Ok(Assigned::plainly(Strategy::Baseline, counters))
    }

    fn memory_bytes(&self) -> usize {
        self.lookup.memory_bytes()
    }
}
