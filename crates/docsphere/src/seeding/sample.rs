//! Estimates the cost of a query at each level from a sample of the documents.

use super::doc_index::{DocIndex, N_LEVELS};
use super::seed_weights::{BLOCK_DOCS, SeedWeights};

/// Number of documents in the sample.
const SAMPLE_DOCS: usize = 4096;

/// The extra time of an f64 pass per document, in units of one posting, as a fraction.
const EXACT_PASS_COST: (u64, u64) = (1, 3);

/// The time of one exact similarity, in units of one posting.
const EXACT_COST: u64 = 350;

/// A sample of documents, used to choose the level of a query.
pub(super) struct Sample {
    n_docs: usize,
    docs: Vec<usize>,
    /// For each level from 1 on, the lengths of the part that it leaves out of each document of the
    /// sample.
    lengths_out: Vec<Vec<u8>>,
    /// Their best similarities, as of an earlier seed.
    best: Vec<f32>,
    /// The number of seeds at which `best` is next updated.
    next_refresh: usize,
}

impl Sample {
    pub(super) fn new(index: &DocIndex, n_docs: usize) -> Self {
        let docs: Vec<usize> = (0..n_docs).step_by(n_docs.div_ceil(SAMPLE_DOCS).max(1)).collect();
        let length = |level, doc: usize| {
            let lengths = index.blocks()[doc / BLOCK_DOCS].lengths_out(level);
            lengths.map_or(0, |lengths| lengths[doc % BLOCK_DOCS])
        };
        let lengths_out =
            (1..=N_LEVELS).map(|level| docs.iter().map(|&doc| length(level, doc)).collect()).collect();
        Sample { n_docs, best: vec![0.0; docs.len()], docs, lengths_out, next_refresh: 0 }
    }

    /// Updates the best similarities if the number of seeds has grown by a sixteenth since the last
    /// update.
    pub(super) fn refresh(&mut self, n_seeds: usize, weights: &SeedWeights<'_>) {
        if n_seeds >= self.next_refresh {
            self.next_refresh = n_seeds + n_seeds / 16 + 1;
            for (best, &doc) in self.best.iter_mut().zip(&self.docs) {
                *best = weights.best(doc) as f32;
            }
        }
    }

    /// The level at which a query is expected to take the least time.
    pub(super) fn cheapest(&self, levels: &[(u64, f32); N_LEVELS + 1], n_seeds: usize) -> usize {
        let n_docs = self.n_docs as u64;
        let (mut cheapest, mut least) = (0, levels[0].0 + n_docs * EXACT_PASS_COST.0 / EXACT_PASS_COST.1);
        for (level, lengths) in (1..).zip(&self.lengths_out) {
            let (postings, out_per_step) = levels[level];
            let exceeds = |(&length, best): (&u8, &f32)| u32::from(f32::from(length) * out_per_step > *best);
            let in_sample: u32 = lengths.iter().zip(&self.best).map(exceeds).sum();
            let untouched = u64::from(in_sample) * n_docs / self.docs.len() as u64;
            let exact = (untouched + n_docs / (n_seeds as u64 + 1)) * EXACT_COST;
            if postings + exact < least {
                (cheapest, least) = (level, postings + exact);
            }
            // Higher levels leave out more, so at least as many documents remain to be compared
            // exactly.
            if exact >= least {
                break;
            }
        }
        cheapest
    }
}
