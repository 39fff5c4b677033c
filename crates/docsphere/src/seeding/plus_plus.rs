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

use super::draw::SeedRng;
use super::search::Search;
use crate::error::Result;
use crate::vectors::{RowWeights, UnitRows};

/// Draws up to `k` seeds; fewer if all other documents coincide with one of them.
pub(super) fn draw_seeds(
    rows: &UnitRows<'_>,
    weights: RowWeights<'_>,
    k: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<usize>> {
    let mut search = Search::new(rows, weights);
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        let Some(seed) = search.draw(rng) else { break };
        search.absorb(seed);
        seeds.push(seed);
        progress(seeds.len())?;
    }
    Ok(seeds)
}
