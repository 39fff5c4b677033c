//! Spherical k-means++: each seed is a document drawn with a weight of one minus its greatest similarity to the seeds so far.
//!
//! The plain method computes the similarity of every document to every new seed. Here an inverted index over the documents finds those that
//! share a term with it; all others have similarity 0, which lowers no weight. Weights are integers, so the draws are the same, to
//! the document. (Similarities below 0 count as 0: a document on the far side is no better a seed than one that shares nothing.)
//!
//! The *greedy* form draws several candidates at each step and keeps the one that lowers the total weight most: slower, better.
//!
//! **Cost.** Time: for each seed (greedy: for each candidate and once more for the winner) the document frequencies of its terms. Memory: the
//! index, 6 bytes a nonzero and 12 for each distinct term of a block, and 8 bytes a document.
//!
//! References: Arthur, Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007, doi:10.5555/1283383.1283494;
//! Endo, Miyamoto, "Spherical k-means++ clustering", MDAI 2015, doi:10.1007/978-3-319-23240-9_9.

use rayon::prelude::*;

use super::doc_index::{Accumulators, DocBlock};
use super::draw::{SeedRng, SeedWeights};
use crate::error::Result;
use crate::vectors::{RowWeights, UnitRows};

/// Draws up to `k` seeds; fewer if all other documents coincide with one of them. `candidates` above 1 is the greedy form.
pub(super) fn draw_seeds(
    rows: &UnitRows<'_>,
    weights: RowWeights<'_>,
    k: usize,
    candidates: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<usize>> {
    let mut state = PlusPlus { rows, index: DocBlock::all(rows), weights: SeedWeights::new(rows, weights) };
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        // The first seed is drawn alone: every candidate would do.
        let n_drawn = if seeds.is_empty() { 1 } else { candidates };
        let drawn: Vec<usize> = (0..n_drawn).map_while(|_| state.weights.draw(rng)).collect();
        let Some(seed) = state.best_of(&drawn) else { break };
        state.absorb(seed);
        seeds.push(seed);
        progress(seeds.len())?;
    }
    Ok(seeds)
}

struct PlusPlus<'a> {
    rows: &'a UnitRows<'a>,
    index: Vec<DocBlock>,
    weights: SeedWeights<'a>,
}

impl PlusPlus<'_> {
    /// The document whose seed would lower the total weight most, the first of them on a tie.
    fn best_of(&self, drawn: &[usize]) -> Option<usize> {
        if drawn.len() <= 1 {
            return drawn.first().copied();
        }
        let gains = self.gains(drawn);
        let most = gains.iter().max()?;
        let first = gains.iter().position(|gain| gain == most)?;
        Some(drawn[first])
    }

    fn gains(&self, drawn: &[usize]) -> Vec<u64> {
        let weights = self.weights.row_weights();
        let by_block = self.index.par_iter().zip(self.weights.blocks()).map_init(
            Accumulators::new,
            |scratch, (index, block)| {
                let gain = |&doc: &usize| {
                    let mut gain = 0;
                    index.query(self.rows.row(doc), scratch, |position, similarity| {
                        gain += block.gain(&weights, position, similarity);
                    });
                    gain
                };
                drawn.iter().map(gain).collect::<Vec<u64>>()
            },
        );
        let zero = || vec![0; drawn.len()];
        by_block.reduce(zero, |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect())
    }

    /// Makes a document a seed.
    fn absorb(&mut self, seed: usize) {
        let weights = self.weights.row_weights();
        let row = self.rows.row(seed);
        self.index.par_iter().zip(self.weights.blocks_mut()).for_each_init(
            Accumulators::new,
            |scratch, (index, block)| {
                index.query(row, scratch, |position, similarity| {
                    block.raise(&weights, position, similarity);
                });
            },
        );
        self.weights.take(seed);
    }
}
