//! What a query is likely to cost at each level, judged by a sample of the documents.

use super::doc_index::{DocIndex, N_LEVELS};
use super::seed_weights::{BLOCK_DOCS, SeedWeights};

/// Documents in the sample that chooses the level.
const SAMPLE_DOCS: usize = 4096;

/// The time that a pass over a document takes longer in f64, in postings gone through: as a
/// fraction.
const EXACT_PASS_COST: (u64, u64) = (1, 3);

/// The time of one exact similarity, in postings gone through.
const EXACT_COST: u64 = 350;

/// Some documents, by which the level of a query is chosen.
pub(super) struct Sample {
    n_docs: usize,
    docs: Vec<usize>,
    /// For each level from 1 on, the lengths of what it leaves out of each document of the sample.
    lengths_out: Vec<Vec<u8>>,
    /// Their best similarities, as of some seeds ago.
    best: Vec<f32>,
    /// How many seeds there are when `best` is brought up to date next.
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

    /// Looks up the best similarities again if there are a sixteenth more seeds than the last time.
    pub(super) fn refresh(&mut self, n_seeds: usize, weights: &SeedWeights<'_>) {
        if n_seeds >= self.next_refresh {
            self.next_refresh = n_seeds + n_seeds / 16 + 1;
            for (best, &doc) in self.best.iter_mut().zip(&self.docs) {
                *best = weights.best(doc) as f32;
            }
        }
    }

    /// The level at which a query is likely to take the least time.
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
            // Further levels leave out more, so they leave no fewer documents to compare exactly.
            if exact >= least {
                break;
            }
        }
        cheapest
    }
}
