//! Random numbers and weighted draws, all in integers.
//!
//! A document's seed weight is an integer, so totals do not depend on the order of addition:
//! updating totals and recomputing them give the same draws. Documents are drawn in a separate
//! order ([`order.rs`](super::order)), not that of the input.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::source::{Draw, Lowered, Seed, SeedSource};
use crate::centroids::Centroid;
use crate::error::Result;

/// Buckets per partial sum.
const SPAN_BUCKETS: usize = 1 << 8;

/// The random stream of one run.
pub(crate) struct SeedRng(ChaCha8Rng);

impl SeedRng {
    pub(crate) fn new(seed: u64, run: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(run as u64);
        SeedRng(rng)
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`: the part above bit 128 of 128 random bits times n. The bias is below
    /// 2^-64.
    fn below(&mut self, n: u64) -> u64 {
        let (high, low) = (u128::from(self.0.next_u64()), u128::from(self.0.next_u64()));
        let n = u128::from(n);
        ((high * n + ((low * n) >> 64)) >> 64) as u64
    }
}

/// The total seed weights of the buckets, used for drawing documents.
pub(super) struct Totals {
    buckets: Vec<u64>,
    /// Totals of [`SPAN_BUCKETS`] buckets each.
    spans: Vec<u64>,
}

impl Totals {
    pub(super) fn new(buckets: Vec<u64>) -> Self {
        let spans = buckets.chunks(SPAN_BUCKETS).map(|buckets| buckets.iter().sum()).collect();
        Totals { buckets, spans }
    }

    /// Draws `n` documents, each with a probability proportional to its weight; none if no document
    /// has weight.
    pub(super) fn draw(&self, source: &dyn SeedSource, n: usize, rng: &mut SeedRng) -> Result<Vec<Seed>> {
        let total: u64 = self.spans.iter().sum();
        if total == 0 {
            return Ok(Vec::new());
        }
        let draws: Vec<Draw> = (0..n).map(|_| self.bucket_at(rng.below(total))).collect();
        source.pick(&draws)
    }

    /// The first bucket at which the running total exceeds a number below the total.
    fn bucket_at(&self, mut rest: u64) -> Draw {
        let past = "the number is below the total";
        let span = first_past(&mut rest, self.spans.iter().copied()).expect(past);
        let buckets = self.buckets[span * SPAN_BUCKETS..].iter().copied();
        let bucket = span * SPAN_BUCKETS + first_past(&mut rest, buckets).expect(past);
        Draw { bucket, rest }
    }

    pub(super) fn lower(&mut self, lowered: &[Lowered]) {
        for lowered in lowered {
            let bucket = lowered.bucket as usize;
            self.buckets[bucket] -= lowered.gain;
            self.spans[bucket / SPAN_BUCKETS] -= lowered.gain;
        }
    }
}

/// Draws up to `k` seeds, one after the other; fewer if no document has weight any more.
/// `make_seed` returns the weights that a new seed lowers.
pub(super) fn one_by_one(
    source: &mut dyn SeedSource,
    mut totals: Totals,
    k: usize,
    rng: &mut SeedRng,
    progress: &mut dyn FnMut(usize) -> Result<()>,
    make_seed: impl Fn(&mut dyn SeedSource, &Seed) -> Result<Vec<Lowered>>,
) -> Result<Vec<Centroid>> {
    let mut seeds = Vec::with_capacity(k);
    while seeds.len() < k {
        let Some(seed) = totals.draw(source, 1, rng)?.pop() else { break };
        totals.lower(&make_seed(source, &seed)?);
        seeds.push(seed.row);
        progress(seeds.len())?;
    }
    Ok(seeds)
}

/// The index of the first weight at which the running total exceeds `rest`; subtracts all weights
/// before it from `rest`.
fn first_past(rest: &mut u64, mut weights: impl Iterator<Item = u64>) -> Option<usize> {
    weights.position(|weight| {
        let here = *rest < weight;
        if !here {
            *rest -= weight;
        }
        here
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_their_own_streams() {
        let first = |seed, run| SeedRng::new(seed, run).below(u64::MAX);
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }

    #[test]
    fn a_running_total_is_exceeded_not_reached() {
        let place = |mut rest: u64| first_past(&mut rest, [2, 0, 3].into_iter());
        assert_eq!([0, 1, 2, 4, 5].map(place), [Some(0), Some(0), Some(2), Some(2), None]);
    }
}
