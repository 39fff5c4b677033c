//! Distributes documents over threads.
//!
//! Each document's result depends only on the document, so chunks and threads cannot change it;
//! counters are integers.

use rayon::prelude::*;

use super::ShardStep;
use crate::labels::Assignment;
use crate::record::Counters;

/// Documents per task: large enough to hide the cost of a task, small enough to balance two hundred
/// thousand documents.
const CHUNK_DOCS: usize = 1024;

/// A document's entry in an [`Assignment`], to be read and written.
pub(super) struct Slot<'a> {
    pub(super) doc: usize,
    pub(super) label: &'a mut u32,
    pub(super) similarity: &'a mut f64,
}

impl Slot<'_> {
    pub(super) fn set(&mut self, label: u32, similarity: f64) {
        *self.label = label;
        *self.similarity = similarity;
    }
}

/// Calls `visit` once for every document, on all threads. `scratch` creates the working memory of a
/// task.
pub(super) fn for_each_document<S>(
    step: &ShardStep<'_>,
    assignment: &mut Assignment,
    scratch: impl Fn() -> S + Sync + Send,
    visit: impl Fn(&mut S, &mut Counters, Slot<'_>) + Sync + Send,
) -> Counters {
    let labels = assignment.labels.par_chunks_mut(CHUNK_DOCS);
    let similarities = assignment.similarities.par_chunks_mut(CHUNK_DOCS);
    labels
        .zip(similarities)
        .enumerate()
        .map_init(&scratch, |scratch, (chunk, (labels, similarities))| {
            let mut counters = Counters::default();
            if step.is_cancelled() {
                return counters;
            }
            for (position, (label, similarity)) in labels.iter_mut().zip(similarities).enumerate() {
                let doc = chunk * CHUNK_DOCS + position;
                visit(scratch, &mut counters, Slot { doc, label, similarity });
            }
            counters
        })
        .reduce(Counters::default, Counters::plus)
}
