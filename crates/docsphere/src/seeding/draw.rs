//! Random numbers and weighted draws, all in integers.
//!
//! A document's seed weight is an integer, so totals do not depend on the order of addition: keeping totals up to date and adding
//! everything up anew give the same draws. Documents are drawn in an order of their own ([`order.rs`](super::order)), not that of the input.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::order::RowOrder;
use crate::update::COINCIDENT;
use crate::vectors::{RowWeights, UnitRows};

/// Documents a block: their accumulators fit into a core's second-level cache, their numbers within a block into 16 bits.
pub(super) const BLOCK_DOCS: usize = 1 << 15;

/// Documents that share one running total: a draw adds up the weights of so many.
const GROUP_DOCS: usize = 1 << 7;

/// Groups that share one running total.
const SPAN_GROUPS: usize = 1 << 8;

/// Rough similarities are multiples of one over this. Chosen so that twice as much, and what is rounded up, fit into 16 bits.
pub(super) const SIMILARITY_STEPS: f32 = 32000.0;

/// A similarity in steps, rounded down; infinity becomes the greatest number.
fn in_steps(similarity: f64) -> u16 {
    (similarity * f64::from(SIMILARITY_STEPS)) as u16
}

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

/// The seed weights of all documents, with running totals.
pub(super) struct SeedWeights<'a> {
    weights: RowWeights<'a>,
    blocks: Vec<WeightBlock>,
    order: RowOrder,
    /// Of [`GROUP_DOCS`] documents each, in that order.
    group_totals: Vec<u64>,
    /// Of [`SPAN_GROUPS`] groups each.
    span_totals: Vec<u64>,
}

/// The documents of one block.
pub(super) struct WeightBlock {
    first_doc: usize,
    /// The greatest similarity to a seed so far, at least 0; infinite for documents that cannot be drawn.
    best: Vec<f64>,
    /// The same in [`SIMILARITY_STEPS`], rounded down: what most documents are compared with.
    rough_best: Vec<u16>,
}

impl<'a> SeedWeights<'a> {
    pub(super) fn new(rows: &UnitRows<'_>, weights: RowWeights<'a>) -> Self {
        let first_docs = (0..rows.n_rows()).into_par_iter().step_by(BLOCK_DOCS);
        let blocks = first_docs.map(|first_doc| WeightBlock::new(rows, first_doc)).collect();
        let order = RowOrder::new(rows);
        let mut seed_weights =
            SeedWeights { weights, blocks, order, group_totals: Vec::new(), span_totals: Vec::new() };
        let groups = seed_weights.order.docs.par_chunks(GROUP_DOCS);
        seed_weights.group_totals =
            groups.map(|docs| docs.iter().map(|&doc| seed_weights.weight(doc)).sum()).collect();
        let spans = seed_weights.group_totals.chunks(SPAN_GROUPS);
        seed_weights.span_totals = spans.map(|groups| groups.iter().sum()).collect();
        seed_weights
    }

    pub(super) fn total(&self) -> u64 {
        self.span_totals.iter().sum()
    }

    fn weight(&self, doc: u32) -> u64 {
        let doc = doc as usize;
        self.blocks[doc / BLOCK_DOCS].weight(&self.weights, doc % BLOCK_DOCS)
    }

    /// Draws a document with a probability proportional to its weight; `None` if nothing has weight.
    pub(super) fn draw(&self, rng: &mut SeedRng) -> Option<usize> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let mut rest = rng.below(total);
        let span = first_past(&mut rest, self.span_totals.iter().copied())?;
        let groups = self.group_totals[span * SPAN_GROUPS..].iter().copied();
        let group = span * SPAN_GROUPS + first_past(&mut rest, groups)?;
        let docs = &self.order.docs[group * GROUP_DOCS..];
        let in_group = first_past(&mut rest, docs.iter().map(|&doc| self.weight(doc)))?;
        Some(docs[in_group] as usize)
    }

    /// Takes a document out of all further draws.
    pub(super) fn take(&mut self, doc: usize) {
        self.raise(doc, f64::INFINITY);
    }

    /// Notes the similarity of a document to a new seed.
    pub(super) fn raise(&mut self, doc: usize, similarity: f64) {
        let lowered = self.blocks[doc / BLOCK_DOCS].raise(&self.weights, doc % BLOCK_DOCS, similarity);
        self.lower(lowered);
    }

    /// Calls `improve` for each block, on many threads; it notes similarities to a new seed, and returns by how much that lowered which weights.
    pub(super) fn raise_blocks(
        &mut self,
        improve: impl Fn(usize, &mut WeightBlock, &RowWeights<'_>) -> Vec<Lowered> + Sync,
    ) {
        let weights = &self.weights;
        let blocks = self.blocks.par_iter_mut().enumerate();
        let lowered: Vec<Vec<Lowered>> =
            blocks.map(|(number, block)| improve(number, block, weights)).collect();
        lowered.into_iter().flatten().for_each(|lowered| self.lower(lowered));
    }

    fn lower(&mut self, Lowered { doc, gain }: Lowered) {
        let group = self.order.positions[doc as usize] as usize / GROUP_DOCS;
        self.group_totals[group] -= gain;
        self.span_totals[group / SPAN_GROUPS] -= gain;
    }

    /// By how much a seed with this similarity would lower the weight of a document.
    pub(super) fn gain(&self, doc: usize, similarity: f64) -> u64 {
        self.blocks[doc / BLOCK_DOCS].gain(&self.weights, doc % BLOCK_DOCS, similarity)
    }

    /// The greatest similarity of a document to a seed so far.
    pub(super) fn best(&self, doc: usize) -> f64 {
        self.blocks[doc / BLOCK_DOCS].best[doc % BLOCK_DOCS]
    }

    pub(super) fn blocks(&self) -> &[WeightBlock] {
        &self.blocks
    }
}

/// A document whose weight was lowered, and by how much.
pub(super) struct Lowered {
    doc: u32,
    gain: u64,
}

/// The number of the first weight at which the running total exceeds `rest`, from which all weights before it are taken.
fn first_past(rest: &mut u64, mut weights: impl Iterator<Item = u64>) -> Option<usize> {
    weights.position(|weight| {
        let here = *rest < weight;
        if !here {
            *rest -= weight;
        }
        here
    })
}

impl WeightBlock {
    fn new(rows: &UnitRows<'_>, first_doc: usize) -> Self {
        let end = rows.n_rows().min(first_doc + BLOCK_DOCS);
        let best = (first_doc..end).map(|doc| if rows.row(doc).nnz() == 0 { f64::INFINITY } else { 0.0 });
        let best: Vec<f64> = best.collect();
        let rough_best = best.iter().map(|&best| in_steps(best)).collect();
        WeightBlock { first_doc, best, rough_best }
    }

    pub(super) fn first_doc(&self) -> usize {
        self.first_doc
    }

    /// The greatest similarity of each document to a seed so far, in [`SIMILARITY_STEPS`], rounded down; `u16::MAX` for documents that cannot be drawn.
    pub(super) fn rough_best(&self) -> &[u16] {
        &self.rough_best
    }

    /// The greatest similarity of each document to a seed so far; infinite for documents that cannot be drawn.
    pub(super) fn best(&self) -> &[f64] {
        &self.best
    }

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
    pub(super) fn raise(&mut self, weights: &RowWeights<'_>, position: usize, similarity: f64) -> Lowered {
        let gain = self.gain(weights, position, similarity);
        self.best[position] = self.best[position].max(similarity);
        self.rough_best[position] = in_steps(self.best[position]);
        Lowered { doc: (self.first_doc + position) as u32, gain }
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
