//! Uniform random seeds: documents drawn without replacement, with a probability proportional to their row weight.

use super::draw::{SeedRng, Totals};
use super::source::SeedSource;
use crate::centroids::Centroid;
use crate::error::Result;

/// Draws up to `k` different documents; fewer only if fewer have weight.
pub(super) fn draw_seeds(
    source: &mut dyn SeedSource,
    k: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<Centroid>> {
    let mut totals = Totals::new(source.begin_seeding(false)?);
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        let Some(seed) = totals.draw(source, rng)? else { break };
        totals.lower(&source.take(seed.doc)?);
        seeds.push(seed.row);
        progress(seeds.len())?;
    }
    Ok(seeds)
}
