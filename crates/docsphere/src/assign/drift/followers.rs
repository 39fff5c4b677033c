//! The per-document half: rows, labels, and bounds on similarities.
//!
//! This file updates them between two assignments; [`look.rs`](super::look) chooses and scans,
//! [`settle.rs`](super::settle) computes similarities and labels.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::arranged::{Arranged, TermRanks};
use super::batch::Batch;
use super::comparer::Comparer;
use super::positions::{NOWHERE, Positions};
use super::states::States;
use crate::assign::ShardStep;
use crate::error::Result;
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
    /// The iteration that they represent.
    pub(super) iteration: Option<usize>,
    pub(super) scratch: Arc<Scratch>,
}

/// Memory for work on documents, whichever they are: shared by all blocks, and kept from one
/// assignment to the next, since a batch has megabytes.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) comparer: Comparer,
    pub(super) batches: Pool<Batch>,
    /// The number of the last arrangement of any block.
    arrangement: AtomicU64,
    /// Whose disk takes arranged rows and states, if they are not in memory.
    folder: Option<PathBuf>,
}

impl Scratch {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Scratch { folder, ..Scratch::default() }
    }

    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// Whether memory is short: rows are in a file.
    pub(super) fn is_short(&self) -> bool {
        self.folder.is_some()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.comparer.memory_bytes() + self.batches.sum(Batch::memory_bytes)
    }
}

/// Documents per task of passes that do little for each.
const TASK_DOCS: usize = 1 << 13;

impl Followers {
    pub(super) fn new(scratch: Arc<Scratch>) -> Self {
        Followers { scratch, ..Followers::default() }
    }

    /// Number of documents that are not zero rows.
    pub(super) fn n_docs(&self) -> usize {
        self.states.n_docs()
    }

    /// Discards everything but the labels, if there are any.
    pub(super) fn reset(&mut self, ranks: &TermRanks, step: &ShardStep<'_>, labels: &[u32]) -> Result<()> {
        let docs = (0..step.rows.n_rows() as u32).into_par_iter().with_min_len(TASK_DOCS);
        let docs: Vec<u32> = docs.filter(|&doc| step.rows.row(doc as usize).nnz() > 0).collect();
        let label = |position: usize| labels[docs[position] as usize];
        // Free the old states before the new ones are allocated.
        self.states = States::default();
        self.states = States::unknown(docs.len(), label, step.iteration, self.scratch.folder.as_deref())?;
        // Free the old rows before the new ones are allocated.
        self.arranged = Arranged::default();
        self.n_moved = docs.len();
        self.arranged = self.arranged_as(docs, ranks, step)?;
        Ok(())
    }

    /// The rows of these documents in this order.
    fn arranged_as(&self, docs: Vec<u32>, ranks: &TermRanks, step: &ShardStep<'_>) -> Result<Arranged> {
        let number = self.scratch.arrangement.fetch_add(1, Relaxed) + 1;
        Arranged::new(number, step.rows, ranks, docs, self.scratch.folder.as_deref())
    }

    /// Applies the changes since the last assignment, and sorts the rows again if many documents
    /// have moved.
    pub(super) fn bring_up_to_date(
        &mut self,
        ranks: &TermRanks,
        step: &ShardStep<'_>,
        labels: &[u32],
        positions: &mut Positions,
    ) -> Result<()> {
        let is_stale = self.n_moved * STALE_SHARE >= self.n_docs();
        if is_stale || !step.refilled.is_empty() {
            self.arranged.find(positions, labels.len());
        }
        // The similarities of documents that were given to empty clusters are unknown.
        for &doc in step.refilled {
            let position = positions.of(doc as usize) as usize;
            self.states.set_label(position, labels[doc as usize]);
            self.states.set_other(position, f32::INFINITY);
        }
        if is_stale {
            self.arrange(ranks, step, labels, positions)?;
        }
        Ok(())
    }

    /// Sorts the rows by cluster. Takes the positions that documents have.
    fn arrange(
        &mut self,
        ranks: &TermRanks,
        step: &ShardStep<'_>,
        labels: &[u32],
        positions: &Positions,
    ) -> Result<()> {
        // Free the old rows before the new ones are allocated.
        self.arranged = Arranged::default();
        let n_clusters = step.centroids.n_clusters();
        // Documents without a label that are not zero rows come last.
        let key = |doc: usize| match labels[doc] {
            Assignment::NO_LABEL => (positions.of(doc) != NOWHERE).then_some(n_clusters as u32),
            label => Some(label),
        };
        let mut by_cluster = NumbersByKey::default();
        by_cluster.group(n_clusters + 1, labels.len(), key);
        let docs = by_cluster.all().par_iter().with_min_len(TASK_DOCS);
        let docs: Vec<u32> = docs.map(|doc| doc.load(Relaxed)).collect();
        drop(by_cluster);
        self.arranged = self.arranged_as(docs, ranks, step)?;
        let docs = self.arranged.docs().par_iter().with_min_len(TASK_DOCS);
        let from: Vec<u32> = docs.map(|&doc| positions.of(doc as usize)).collect();
        self.states.permute(&from);
        self.n_moved = 0;
        Ok(())
    }

    /// Finds the positions of each cluster's members.
    pub(super) fn group_members(&self, step: &ShardStep<'_>, members: &mut NumbersByKey) {
        let states = &self.states;
        let label = |position| Some(states.label(position)).filter(|&label| label != Assignment::NO_LABEL);
        members.group(step.centroids.n_clusters(), states.n_docs(), label);
    }

    /// Records that this many documents have new labels.
    pub(super) fn note_moves(&mut self, n_moved: usize) {
        self.n_moved += n_moved;
    }

    /// Writes every document's label and its similarity to its own centroid.
    pub(super) fn write(&self, assignment: &mut Assignment, positions: &mut Positions) {
        self.arranged.find(positions, assignment.labels.len());
        let slots = assignment.labels.par_iter_mut().zip(&mut assignment.similarities[..]);
        slots.enumerate().with_min_len(TASK_DOCS).for_each(|(doc, (label, similarity))| {
            *similarity = 0.0;
            let position = positions.of(doc);
            if position != NOWHERE {
                *label = self.states.label(position as usize);
                *similarity = self.states.own(position as usize);
            }
        });
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.arranged.memory_bytes() + self.states.memory_bytes()
    }
}
