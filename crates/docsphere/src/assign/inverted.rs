//! `inverted`: all similarities of a document at once, through posting lists over the centroids.
//!
//! For each term of the row, in ascending order, `x * c` is added to the accumulator of every
//! centroid that has the term. Nothing is pruned, but centroids cost only where they share a term,
//! and memory is read sequentially. The summation order is that of the reference, so the bits are
//! too.
//!
//! **Cost.** One multiply-add per posting of the row's terms, and two passes over k accumulators
//! per document. Memory: 8 bytes per entry of the centroids, `8 * n_terms`, and `8 * k` per thread.
//! The fastest of the simple methods on the texts measured (`docsphere-bench grid`).
//!
//! Reference: Aoyama, Saito, Ikeda, "Inverted-file k-means clustering: performance analysis", 2020,
//! doi:10.48550/arXiv.2002.09094.

use super::choice::winner;
use super::documents::for_each_document;
use super::postings::Postings;
use super::{Assigned, Assigner, Rivals, ShardStep, Wanted, rivals};
use crate::error::Result;
use crate::labels::Assignment;
use crate::record::Strategy;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Inverted {
    postings: Postings,
}

impl Assigner for Inverted {
    fn begin(&mut self, step: &ShardStep<'_>, _n_unsettled: u64) -> Result<()> {
        self.postings.build(step.centroids);
        Ok(())
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        let n_live = step.live.len() as u64;
        let scratch = || vec![0.0; step.centroids.n_clusters()];
        let counters = for_each_document(step, assignment, scratch, |similarities, counters, mut slot| {
            let row = step.rows.row(slot.doc);
            if row.nnz() == 0 {
                return;
            }
            counters.postings += self.postings.similarities(row, similarities);
            counters.similarities += n_live;
            let (label, similarity) = winner(similarities, *slot.label);
            slot.set(label, similarity);
        });
        Ok(Assigned::plainly(Strategy::Inverted, counters))
    }

    fn rivals(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
        rivals::through(&self.postings, step, wanted, labels)
    }

    fn memory_bytes(&self) -> usize {
        self.postings.memory_bytes()
    }
}
