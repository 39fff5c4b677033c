//! Uniform random seeds: documents drawn without replacement, with a probability proportional to
//! their row weight.

use super::draw::{SeedRng, Totals, one_by_one};
use super::source::SeedSource;
use crate::centroids::Centroid;
use crate::error::Result;

/// Draws up to `k` distinct documents; fewer only if fewer have weight.
pub(super) fn draw_seeds(
    source: &mut dyn SeedSource,
    k: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<Centroid>> {
    let totals = Totals::new(source.begin_seeding(false)?);
    one_by_one(source, totals, k, rng, progress, |source, seed| source.take(seed.doc))
}
