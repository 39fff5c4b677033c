//! The per-document half: rows, labels, and bounds on similarities.
//!
//! This file updates them between two assignments; [`look.rs`](super::look) chooses and scans,
//! [`settle.rs`](super::settle) computes similarities and labels.

use rayon::prelude::*;

use super::arranged::{Arranged, NOWHERE, TermRanks};
use super::comparer::Comparer;
use super::states::States;
use crate::assign::ShardStep;
use crate::by_key::ByKey;
use crate::labels::Assignment;

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
    pub(super) members: ByKey<u32>,
    pub(super) comparer: Comparer,
}

impl Followers {
    /// Number of documents that are not zero rows.
    pub(super) fn n_docs(&self) -> usize {
        self.states.labels.len()
    }

    /// Discards everything but the labels, if there are any.
    pub(super) fn reset(&mut self, ranks: &TermRanks, step: &ShardStep<'_>, labels: &[u32]) {
        let docs = (0..step.rows.n_rows()).filter(|&doc| step.rows.row(doc).nnz() > 0);
        let docs: Vec<u32> = docs.map(|doc| doc as u32).collect();
        self.states = States::unknown(docs.iter().map(|&doc| labels[doc as usize]).collect(), step.iteration);
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
            self.states.labels[position] = labels[doc as usize];
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
        let mut docs = ByKey::new(step.centroids.n_clusters(), labelled(labels)).into_values();
        // Documents without a label that are not zero rows come last.
        let has_no_label =
            |&(doc, &position): &(usize, &u32)| position != NOWHERE && labels[doc] == Assignment::NO_LABEL;
        docs.extend(positions.iter().enumerate().filter(has_no_label).map(|(doc, _)| doc as u32));
        self.arranged = Arranged::new(step.rows, ranks, docs);
        let from: Vec<u32> = self.arranged.docs().iter().map(|&doc| positions[doc as usize]).collect();
        self.states.permute(&from);
        self.n_moved = 0;
    }

    fn group_members(&mut self, step: &ShardStep<'_>) {
        self.members.group(step.centroids.n_clusters(), labelled(&self.states.labels));
    }

    /// Gives a document its new label.
    pub(super) fn set_label(&mut self, position: usize, label: u32, assignment: &mut Assignment) {
        let before = std::mem::replace(&mut self.states.labels[position], label);
        self.n_moved += usize::from(before != label);
        assignment.labels[self.arranged.docs()[position] as usize] = label;
    }

    /// Writes every document's similarity to its own centroid.
    pub(super) fn write_similarities(&self, assignment: &mut Assignment) {
        let positions = self.arranged.positions().par_iter().with_min_len(1 << 13);
        assignment.similarities.par_iter_mut().zip(positions).for_each(|(similarity, &position)| {
            *similarity = if position == NOWHERE { 0.0 } else { self.states.own(position as usize) };
        });
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.arranged.memory_bytes()
            + self.states.memory_bytes()
            + self.members.memory_bytes()
            + self.comparer.memory_bytes()
    }
}

/// Labels and their positions, except those without a label.
fn labelled(labels: &[u32]) -> impl Iterator<Item = (u32, u32)> + Clone {
    labels.iter().copied().zip(0..).filter(|&(label, _)| label != Assignment::NO_LABEL)
}
