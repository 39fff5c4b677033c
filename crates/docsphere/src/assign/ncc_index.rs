//! `ncc-index`: both strategies of the paper combined, its full approach.
//!
//! The index's list of candidates is filtered by the rule of `ncc`: a document whose own centroid
//! did not change is compared only with those candidates that did. Building the index does not pay
//! off when few clusters change, so it is built only while more than `index_min_changed` of them
//! (about 100, according to the paper's discussion) did; otherwise the strategy is `ncc` alone.
//! With negative values it is `ncc` alone, too, and the trace records it.
//!
//! **Cost.** As `index`, minus the savings of the filter. Memory as `index`.
//!
//! Reference: Knittel, Koch, Ertl, DocEng 2021, sections 3.2 and 4.3, doi:10.1145/3469096.3474937.

use super::documents::for_each_document;
use super::lookup::Lookup;
use super::paper::OverlapIndex;
use super::paper::Scan;
use super::{Assigned, Assigner, ShardStep};
use crate::error::Result;
use crate::labels::Assignment;
use crate::record::Strategy;

/// See the [module](self).
pub(super) struct NccIndex {
    lambdas: Vec<f64>,
    min_changed: usize,
    lookup: Lookup,
    /// `None` while the index is off.
    overlap: Option<OverlapIndex>,
    filters_off: bool,
}

impl NccIndex {
    pub(super) fn new(lambdas: Vec<f64>, min_changed: usize) -> Self {
        NccIndex { lambdas, min_changed, lookup: Lookup::default(), overlap: None, filters_off: false }
    }
}

impl Assigner for NccIndex {
    fn begin(&mut self, step: &ShardStep<'_>, _n_unsettled: u64) -> Result<()> {
        self.lookup.prepare(step);
        self.overlap = None;
        self.filters_off = !step.allows_index();
        if step.n_changed() > self.min_changed && !self.filters_off {
            self.overlap = Some(OverlapIndex::build(step.centroids, &self.lambdas, step.rows.max_row_nnz()));
        }
        Ok(())
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        let scratch = || self.overlap.as_ref().map(OverlapIndex::query);
        let counters = for_each_document(step, assignment, scratch, |query, counters, slot| {
            let Some(scan) = Scan::new(&self.lookup, step, slot) else { return };
            let Some(query) = query else { return scan.changed(counters) };
            let choice = scan.own_choice(counters, true);
            let (candidates, n_postings) = query.candidates(scan.row, choice.reached());
            counters.postings += n_postings;
            if let Some(movement) = step.movement.filter(|_| scan.only_others_changed()) {
                candidates.retain(|&cluster| movement.is_changed(cluster as usize));
            }
            scan.among(candidates, choice, counters);
        });
        let strategy = if self.overlap.is_some() { Strategy::NccIndex } else { Strategy::Ncc };
        Ok(Assigned {
            filters_off: self.filters_off,
            index: self.overlap.as_ref().map(OverlapIndex::index_use),
            ..Assigned::plainly(strategy, counters)
        })
    }

    fn memory_bytes(&self) -> usize {
        self.lookup.memory_bytes() + self.overlap.as_ref().map_or(0, OverlapIndex::memory_bytes)
    }
}
