//! `index`: the dot-product index with several thresholds, the paper's section 3.2.
//!
//! The similarity to the own centroid is a baseline that any winner must reach. The index (see
//! `paper/overlap.rs`, with proof) returns a list of centroids that contains all those that reach
//! the highest threshold not above this baseline; only those are compared. Below the smallest
//! threshold, and in the first assignment, the list contains all centroids that share a term; the
//! others have similarity 0.
//!
//! With negative values the filter is off (a centroid without common terms may then be the best),
//! every document is compared with every centroid, and the trace records it.
//!
//! **Cost.** Two passes over postings per document, then one dot product per candidate. The index
//! is rebuilt in each iteration. Memory: the tables of `lookup.rs` and the maps of
//! `paper/overlap.rs`, with four thresholds up to 36 bytes per entry of the centroids and 40 per
//! term.
//!
//! Reference: Knittel, Koch, Ertl, DocEng 2021, section 3.2, doi:10.1145/3469096.3474937.

use super::documents::for_each_document;
use super::lookup::Lookup;
use super::paper::OverlapIndex;
use super::paper::Scan;
use super::{Assigned, Assigner, ShardStep};
use crate::error::Result;
use crate::labels::Assignment;
use crate::record::Strategy;

/// See the [module](self).
pub(super) struct Index {
    lambdas: Vec<f64>,
    lookup: Lookup,
    /// `None` while the filter is off.
    overlap: Option<OverlapIndex>,
}

impl Index {
    pub(super) fn new(lambdas: Vec<f64>) -> Self {
        Index { lambdas, lookup: Lookup::default(), overlap: None }
    }
}

impl Assigner for Index {
    fn begin(&mut self, step: &ShardStep<'_>, _n_unsettled: u64) -> Result<()> {
        self.lookup.prepare(step);
        // Free the old index before the new one is built, to save memory.
        self.overlap = None;
        if step.allows_index() {
            self.overlap = Some(OverlapIndex::build(step.centroids, &self.lambdas, step.rows.max_row_nnz()));
        }
        Ok(())
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        let scratch = || self.overlap.as_ref().map(OverlapIndex::query);
        let counters = for_each_document(step, assignment, scratch, |query, counters, slot| {
            let Some(scan) = Scan::new(&self.lookup, step, slot) else { return };
            let Some(query) = query else { return scan.all(counters) };
            let choice = scan.own_choice(counters, false);
            let (candidates, n_postings) = query.candidates(scan.row, choice.reached());
            counters.postings += n_postings;
            scan.among(candidates, choice, counters);
        });
        Ok(Assigned {
            filters_off: self.overlap.is_none(),
            index: self.overlap.as_ref().map(OverlapIndex::index_use),
            ..Assigned::plainly(Strategy::Index, counters)
        })
    }

    fn memory_bytes(&self) -> usize {
        self.lookup.memory_bytes() + self.overlap.as_ref().map_or(0, OverlapIndex::memory_bytes)
    }
}
