//! The state that `drift` keeps for each document, by position.
//!
//! Atomic, since documents are processed by cluster and by batch, in parallel; no two tasks of a
//! stage share a document.
//!
//! **Cost.** 17 bytes per document.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// See the [module](self).
#[derive(Default)]
pub(super) struct States {
    pub(super) labels: Vec<u32>,
    /// The similarity to the own centroid, as bits; minus infinity if that is empty or the
    /// similarity is unknown; 0 without a label.
    pub(super) own: Vec<AtomicU64>,
    /// Upper bound on the similarity to any other centroid as of some iteration, as bits. Never
    /// below 0.
    pub(super) other: Vec<AtomicU32>,
    /// That iteration, modulo 256.
    pub(super) made: Vec<AtomicU8>,
}

impl States {
    /// A state with labels only; the first bounds are made in this iteration.
    pub(super) fn unknown(labels: Vec<u32>, iteration: usize) -> Self {
        let n_docs = labels.len();
        States {
            labels,
            own: (0..n_docs).map(|_| AtomicU64::new(f64::NEG_INFINITY.to_bits())).collect(),
            other: (0..n_docs).map(|_| AtomicU32::new(f32::INFINITY.to_bits())).collect(),
            made: (0..n_docs).map(|_| AtomicU8::new((iteration as u8).wrapping_sub(1))).collect(),
        }
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
        let labels = from.iter().map(|&old| self.labels[old as usize]).collect();
        let own = from.iter().map(|&old| AtomicU64::new(self.own[old as usize].load(Relaxed))).collect();
        let other = from.iter().map(|&old| AtomicU32::new(self.other[old as usize].load(Relaxed))).collect();
        let made = from.iter().map(|&old| AtomicU8::new(self.made[old as usize].load(Relaxed))).collect();
        *self = States { labels, own, other, made };
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (4 + 8 + 4 + 1) * self.labels.len()
    }
}
