//! The per-document half: rows, labels, and bounds on similarities.
//!
//! This file updates them between two assignments; [`look.rs`](super::look) chooses and scans,
//! [`settle.rs`](super::settle) computes similarities and labels.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::arranged::{Arranged, NOWHERE, TermRanks};
use super::batch::Batch;
use super::comparer::Comparer;
use super::states::States;
use crate::assign::ShardStep;
use crate::labels::Assignment;
use crate::numbers_by_key::NumbersByKey;
use crate::pool::Pool;

/// Re-sort the rows by cluster once 1/`STALE_SHARE` of the documents have moved.
const STALE_SHARE: usize = 4;

/// See the [module](self). A document's *position* is its index among the arranged rows.
#[derive(Default)]
pub(super) struct Followers {
    pub(super) arranged: Arranged,
    /// Number of documents that have moved since they were arranged.
    n_moved: usize,
    pub(super) states: States,
    /// The positions of each cluster's members.
    pub(super) members: NumbersByKey,
    pub(super) comparer: Comparer,
    /// Kept from one assignment to the next: a batch has megabytes.
    pub(super) batches: Pool<Batch>,
}

/// Documents per task of passes that do little for each.
const TASK_DOCS: usize = 1 << 13;

impl Followers {
    /// Number of documents that are not zero rows.
    pub(super) fn n_docs(&self) -> usize {
        self.states.n_docs()
    }

    /// Discards everything but the labels, if there are any.
    pub(super) fn reset(&mut self, ranks: &TermRanks, step: &ShardStep<'_>, labels: &[u32]) {
        let docs = (0..step.rows.n_rows() as u32).into_par_iter().with_min_len(TASK_DOCS);
        let docs: Vec<u32> = docs.filter(|&doc| step.rows.row(doc as usize).nnz() > 0).collect();
        let label = |position: usize| labels[docs[position] as usize];
        self.states = States::unknown(docs.len(), label, step.iteration);
        // Free the old rows before the new ones are allocated.
        self.arranged = Arranged::default();
        self.n_moved = docs.len();
        self.arranged = Arranged::new(step.rows, ranks, docs);
        self.group_members(step);
    }

    /// Applies the changes since the last assignment, and sorts the rows again if many documents
    /// have moved.
    pub(super) fn bring_up_to_date(&mut self, ranks: &TermRanks, step: &ShardStep<'_>, labels: &[u32]) {
        // The similarities of documents that were given to empty clusters are unknown.
        for &doc in step.refilled {
            let position = self.arranged.positions()[doc as usize] as usize;
            self.states.set_label(position, labels[doc as usize]);
            self.states.set_other(position, f32::INFINITY);
        }
        if self.n_moved * STALE_SHARE >= self.n_docs() {
            self.arrange(ranks, step, labels);
        }
        self.group_members(step);
    }

    /// Sorts the rows by cluster.
    fn arrange(&mut self, ranks: &TermRanks, step: &ShardStep<'_>, labels: &[u32]) {
        let positions = std::mem::take(&mut self.arranged).into_positions();
        let n_clusters = step.centroids.n_clusters();
        // Documents without a label that are not zero rows come last.
        let key = |doc: usize| match labels[doc] {
            Assignment::NO_LABEL => (positions[doc] != NOWHERE).then_some(n_clusters as u32),
            label => Some(label),
        };
        let mut by_cluster = NumbersByKey::default();
        by_cluster.group(n_clusters + 1, labels.len(), key);
        let docs = by_cluster.all().par_iter().with_min_len(TASK_DOCS);
        let docs: Vec<u32> = docs.map(|doc| doc.load(Relaxed)).collect();
        drop(by_cluster);
        self.arranged = Arranged::new(step.rows, ranks, docs);
        let docs = self.arranged.docs().par_iter().with_min_len(TASK_DOCS);
        let from: Vec<u32> = docs.map(|&doc| positions[doc as usize]).collect();
        self.states.permute(&from);
        self.n_moved = 0;
    }

    fn group_members(&mut self, step: &ShardStep<'_>) {
        let states = &self.states;
        let label = |position| Some(states.label(position)).filter(|&label| label != Assignment::NO_LABEL);
        self.members.group(step.centroids.n_clusters(), states.n_docs(), label);
    }

    /// Records that this many documents have new labels.
    pub(super) fn note_moves(&mut self, n_moved: usize) {
        self.n_moved += n_moved;
    }

    /// Writes every document's label and its similarity to its own centroid.
    pub(super) fn write(&self, assignment: &mut Assignment) {
        let positions = self.arranged.positions().par_iter().with_min_len(TASK_DOCS);
        let slots = assignment.labels.par_iter_mut().zip(&mut assignment.similarities);
        slots.zip(positions).for_each(|((label, similarity), &position)| {
            *similarity = 0.0;
            if position != NOWHERE {
                *label = self.states.label(position as usize);
                *similarity = self.states.own(position as usize);
            }
        });
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.arranged.memory_bytes()
            + self.states.memory_bytes()
            + self.members.memory_bytes()
            + self.comparer.memory_bytes()
            + self.batches.sum(Batch::memory_bytes)
    }
}
