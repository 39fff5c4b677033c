//! Uniform random seeds: documents drawn without replacement, with a probability proportional to their row weight.

use super::draw::{SeedRng, SeedWeights};
use crate::error::Result;
use crate::vectors::{RowWeights, UnitRows};

/// Draws up to `k` different documents; fewer only if fewer have weight.
pub(super) fn draw_seeds(
    rows: &UnitRows<'_>,
    weights: RowWeights<'_>,
    k: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<usize>> {
    let mut weights = SeedWeights::new(rows, weights);
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        let Some(doc) = weights.draw(rng) else { break };
        weights.take(doc);
        seeds.push(doc);
        progress(seeds.len())?;
    }
    Ok(seeds)
}
