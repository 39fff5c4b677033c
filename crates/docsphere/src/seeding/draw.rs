//! Random numbers and weighted draws, all in integers.
//!
//! A document's seed weight is an integer, so totals do not depend on the order of addition: keeping block totals up to date and adding
//! everything up anew give the same draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::update::COINCIDENT;
use crate::vectors::{RowWeights, UnitRows};

/// Documents a block: their accumulators fit into a core's second-level cache, their numbers within a block into 16 bits.
pub(super) const BLOCK_DOCS: usize = 1 << 14;

/// The random stream of one run.
pub(super) struct SeedRng(ChaCha8Rng);

impl SeedRng {
    pub(super) fn new(seed: u64, run: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(run as u64);
        SeedRng(rng)
    }

    /// A number below `n`. Of 128 random bits times n, the part above bit 128: the bias is below 2^-64.
    fn below(&mut self, n: u64) -> u64 {
        let (high, low) = (u128::from(self.0.next_u64()), u128::from(self.0.next_u64()));
        let n = u128::from(n);
        ((high * n + ((low * n) >> 64)) >> 64) as u64
    }
}

/// The seed weights of all documents, with totals by block.
pub(super) struct SeedWeights<'a> {
    weights: RowWeights<'a>,
    blocks: Vec<WeightBlock>,
}

/// The documents of one block.
pub(super) struct WeightBlock {
    first_doc: usize,
    /// The greatest similarity to a seed so far, at least 0; infinite for documents that cannot be drawn.
    best: Vec<f64>,
    total: u64,
}

impl<'a> SeedWeights<'a> {
    pub(super) fn new(rows: &UnitRows<'_>, weights: RowWeights<'a>) -> Self {
        let mut blocks = Vec::with_capacity(rows.n_rows().div_ceil(BLOCK_DOCS));
        for first_doc in (0..rows.n_rows()).step_by(BLOCK_DOCS) {
            let end = rows.n_rows().min(first_doc + BLOCK_DOCS);
            let best = (first_doc..end).map(|doc| if rows.row(doc).nnz() == 0 { f64::INFINITY } else { 0.0 });
            let mut block = WeightBlock { first_doc, best: best.collect(), total: 0 };
            block.total = (0..block.best.len()).map(|position| block.weight(&weights, position)).sum();
            blocks.push(block);
        }
        SeedWeights { weights, blocks }
    }

    pub(super) fn total(&self) -> u64 {
        self.blocks.iter().map(|block| block.total).sum()
    }

    /// Draws a document with a probability proportional to its weight; `None` if nothing has weight.
    pub(super) fn draw(&self, rng: &mut SeedRng) -> Option<usize> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let mut rest = rng.below(total);
        let block = self.blocks.iter().find(|block| {
            let here = rest < block.total;
            if !here {
                rest -= block.total;
            }
            here
        })?;
        let position = (0..block.best.len()).find(|&position| {
            let weight = block.weight(&self.weights, position);
            let here = rest < weight;
            if !here {
                rest -= weight;
            }
            here
        })?;
        Some(block.first_doc + position)
    }

    /// Takes a document out of all further draws.
    pub(super) fn take(&mut self, doc: usize) {
        let weights = self.weights;
        self.blocks[doc / BLOCK_DOCS].raise(&weights, doc % BLOCK_DOCS, f64::INFINITY);
    }

    pub(super) fn row_weights(&self) -> RowWeights<'a> {
        self.weights
    }

    pub(super) fn blocks(&self) -> &[WeightBlock] {
        &self.blocks
    }

    pub(super) fn blocks_mut(&mut self) -> &mut [WeightBlock] {
        &mut self.blocks
    }
}

impl WeightBlock {
    /// The seed weight of a document if its best similarity were `best`.
    fn weight_for(&self, weights: &RowWeights<'_>, position: usize, best: f64) -> u64 {
        let gap = 1.0 - best.max(0.0);
        if gap < COINCIDENT { 0 } else { weights.fixed(self.first_doc + position, gap) as u64 }
    }

    fn weight(&self, weights: &RowWeights<'_>, position: usize) -> u64 {
        self.weight_for(weights, position, self.best[position])
    }

    /// By how much a seed with this similarity would lower the document's weight.
    pub(super) fn gain(&self, weights: &RowWeights<'_>, position: usize, similarity: f64) -> u64 {
        if similarity <= self.best[position] {
            return 0;
        }
        self.weight(weights, position) - self.weight_for(weights, position, similarity)
    }

    /// Notes the similarity of a document to a new seed.
    pub(super) fn raise(&mut self, weights: &RowWeights<'_>, position: usize, similarity: f64) {
        self.total -= self.gain(weights, position, similarity);
        self.best[position] = self.best[position].max(similarity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn draws_follow_the_weights() {
        let rows = SparseRows::from_parts(3, vec![0, 1, 1, 2, 3], vec![0, 1, 2], vec![1.0; 3]).unwrap();
        let rows = UnitRows::new(rows);
        let given = [1.0, 5.0, 0.0, 3.0];
        let mut weights = SeedWeights::new(&rows, RowWeights::new(&given, 4).unwrap());
        let mut rng = SeedRng::new(7, 0);
        let mut counts = [0u32; 4];
        for _ in 0..4000 {
            counts[weights.draw(&mut rng).unwrap()] += 1;
        }
        assert_eq!([counts[1], counts[2]], [0, 0], "a zero row and a row without weight are never drawn");
        assert!((2800..3200).contains(&counts[3]), "three times in four: {counts:?}");
        weights.take(3);
        assert_eq!(weights.draw(&mut rng), Some(0));
        weights.take(0);
        assert_eq!(weights.draw(&mut rng), None);
    }

    #[test]
    fn runs_have_their_own_streams() {
        let first = |seed, run| SeedRng::new(seed, run).below(u64::MAX);
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }
}
