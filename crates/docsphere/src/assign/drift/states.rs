//! The state that `drift` keeps for each document, by position.
//!
//! Atomic, since documents are processed by cluster and by batch, in parallel; no two tasks of a
//! stage share a document.
//!
//! **Cost.** 17 bytes per document: in memory, or in scratch files if the rows are in a file.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Result;
use crate::mapping::Spillable;

/// Documents per task of copying.
const TASK_DOCS: usize = 1 << 13;

/// See the [module](self).
#[derive(Default)]
pub(super) struct States {
    labels: Spillable<AtomicU32>,
    /// The similarity to the own centroid, as bits; minus infinity if that is empty or the
    /// similarity is unknown; 0 without a label.
    own: Spillable<AtomicU64>,
    /// Upper bound on the similarity to any other centroid as of some iteration, as bits. Never
    /// below 0.
    other: Spillable<AtomicU32>,
    /// That iteration, modulo 256.
    made: Spillable<AtomicU8>,
}

/// A list with one item per document, made on all threads.
fn each<T: Send>(n_docs: usize, item: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    (0..n_docs).into_par_iter().with_min_len(TASK_DOCS).map(item).collect()
}

impl States {
    /// A state with labels only; the first bounds are made in this iteration. In memory, or on the
    /// disk of a folder.
    pub(super) fn unknown(
        n_docs: usize,
        label: impl Fn(usize) -> u32 + Sync,
        iteration: usize,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let made = (iteration as u8).wrapping_sub(1);
        Ok(States {
            labels: Spillable::new(each(n_docs, |position| AtomicU32::new(label(position))), folder)?,
            own: Spillable::new(each(n_docs, |_| AtomicU64::new(f64::NEG_INFINITY.to_bits())), folder)?,
            other: Spillable::new(each(n_docs, |_| AtomicU32::new(f32::INFINITY.to_bits())), folder)?,
            made: Spillable::new(each(n_docs, |_| AtomicU8::new(made)), folder)?,
        })
    }

    pub(super) fn n_docs(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn label(&self, position: usize) -> u32 {
        self.labels[position].load(Relaxed)
    }

    /// Sets a label, and returns the one before.
    pub(super) fn set_label(&self, position: usize, label: u32) -> u32 {
        let before = self.label(position);
        self.labels[position].store(label, Relaxed);
        before
    }

    pub(super) fn own(&self, position: usize) -> f64 {
        f64::from_bits(self.own[position].load(Relaxed))
    }

    pub(super) fn set_own(&self, position: usize, own: f64) {
        self.own[position].store(own.to_bits(), Relaxed);
    }

    pub(super) fn other(&self, position: usize) -> f32 {
        f32::from_bits(self.other[position].load(Relaxed))
    }

    /// Sets the bound. It is never below 0: an empty centroid has similarity 0, and the bound must
    /// cover it, because the centroid grows from there when its cluster is refilled.
    pub(super) fn set_other(&self, position: usize, other: f32) {
        self.other[position].store(other.max(0.0).to_bits(), Relaxed);
    }

    /// The number of assignments since the bound was made.
    pub(super) fn age(&self, position: usize, iteration: usize) -> usize {
        let made = self.made[position].load(Relaxed);
        usize::from((iteration as u8).wrapping_sub(1).wrapping_sub(made))
    }

    /// Records that the bound was made in this iteration.
    pub(super) fn set_made(&self, position: usize, iteration: usize) {
        self.made[position].store(iteration as u8, Relaxed);
    }

    /// Reorders all states: `from` holds the old position of each new one.
    pub(super) fn permute(&mut self, from: &[u32]) {
        let n_docs = from.len();
        let old = |position: usize| from[position] as usize;
        let States { labels, own, other, made } = self;
        labels.replace(each(n_docs, |position| AtomicU32::new(labels[old(position)].load(Relaxed))));
        own.replace(each(n_docs, |position| AtomicU64::new(own[old(position)].load(Relaxed))));
        other.replace(each(n_docs, |position| AtomicU32::new(other[old(position)].load(Relaxed))));
        made.replace(each(n_docs, |position| AtomicU8::new(made[old(position)].load(Relaxed))));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.labels.memory_bytes()
            + self.own.memory_bytes()
            + self.other.memory_bytes()
            + self.made.memory_bytes()
    }
}
