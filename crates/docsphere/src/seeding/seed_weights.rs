//! The seed weights of the documents of a shard.

use rayon::prelude::*;

use super::order::{Buckets, RowOrder};
use super::pooled::Improved;
use super::source::{Drawable, Lowered};
use crate::vectors::{COINCIDENT, RowWeights, UnitRows};

/// Documents per block: their accumulators fit into a core's L2 cache, and their positions within a
/// block into 16 bits.
pub(super) const BLOCK_DOCS: usize = 1 << 15;

/// Rough similarities are multiples of one over this. Chosen so that twice this value, plus
/// rounding, fits into 16 bits.
pub(super) const SIMILARITY_STEPS: f32 = 32000.0;

/// A similarity in steps, rounded down; infinity becomes the maximum.
fn in_steps(similarity: f64) -> u16 {
    (similarity * f64::from(SIMILARITY_STEPS)) as u16
}

/// See the [module](self).
pub(super) struct SeedWeights<'a> {
    weights: RowWeights<'a>,
    blocks: Vec<WeightBlock>,
    order: RowOrder,
}

/// The documents of one block.
pub(super) struct WeightBlock {
    first_doc: usize,
    /// The greatest similarity to a seed so far, at least 0; infinite for documents that cannot be
    /// drawn.
    best: Vec<f64>,
    /// The same in [`SIMILARITY_STEPS`], rounded down; used for most comparisons.
    rough_best: Vec<u16>,
}

/// A document whose weight was lowered, and by how much.
pub(super) struct LoweredDoc {
    doc: u32,
    gain: u64,
}

impl<'a> SeedWeights<'a> {
    pub(super) fn new(rows: &UnitRows<'_>, weights: RowWeights<'a>, buckets: Buckets) -> Self {
        let first_docs = (0..rows.n_rows()).into_par_iter().step_by(BLOCK_DOCS);
        let blocks = first_docs.map(|first_doc| WeightBlock::new(rows, first_doc)).collect();
        SeedWeights { weights, blocks, order: RowOrder::new(rows, buckets) }
    }

    /// The total weight of each bucket.
    pub(super) fn totals(&self) -> Vec<u64> {
        let total = |bucket| self.order.docs_of(bucket).iter().map(|&doc| self.weight(doc)).sum();
        (0..self.order.n_buckets()).into_par_iter().with_min_len(64).map(total).collect()
    }

    /// The documents of a bucket that have weight, in order.
    ///
    /// A bucket has about as many documents as there are distinct rows in it, unless a row is
    /// repeated very often.
    pub(super) fn drawable(&self, bucket: usize) -> Vec<Drawable> {
        let drawable = |&doc: &u32| Drawable { doc, weight: self.weight(doc) };
        let docs = self.order.docs_of(bucket).par_iter().with_min_len(1 << 12);
        docs.map(drawable).filter(|drawable| drawable.weight > 0).collect()
    }

    fn weight(&self, doc: u32) -> u64 {
        let doc = doc as usize;
        self.blocks[doc / BLOCK_DOCS].weight(&self.weights, doc % BLOCK_DOCS)
    }

    /// Removes a document from all further draws.
    pub(super) fn take(&mut self, doc: u32) -> Lowered {
        self.raise(doc, f64::INFINITY)
    }

    /// Records the similarity of a document to a new seed.
    pub(super) fn raise(&mut self, doc: u32, similarity: f64) -> Lowered {
        let block = &mut self.blocks[doc as usize / BLOCK_DOCS];
        let lowered = block.raise(&self.weights, doc as usize % BLOCK_DOCS, similarity);
        self.in_bucket(lowered)
    }

    /// Calls `improve` for each block, in parallel; it records similarities to a new seed, and
    /// returns which weights that lowered and by how much.
    pub(super) fn raise_blocks(
        &mut self,
        improve: impl Fn(usize, &mut WeightBlock, &RowWeights<'_>) -> Vec<LoweredDoc> + Sync,
    ) -> Vec<Lowered> {
        let weights = &self.weights;
        let blocks = self.blocks.par_iter_mut().enumerate();
        let lowered: Vec<Vec<LoweredDoc>> =
            blocks.map(|(number, block)| improve(number, block, weights)).collect();
        lowered.into_iter().flatten().map(|lowered| self.in_bucket(lowered)).collect()
    }

    fn in_bucket(&self, LoweredDoc { doc, gain }: LoweredDoc) -> Lowered {
        Lowered { bucket: self.order.bucket_of(doc), gain }
    }

    /// The amount by which a seed with this similarity would lower the weight of a document.
    fn gain(&self, doc: u32, similarity: f64) -> u64 {
        let doc = doc as usize;
        self.blocks[doc / BLOCK_DOCS].gain(&self.weights, doc % BLOCK_DOCS, similarity)
    }

    /// The amount by which a seed that improves exactly these documents lowers the total weight.
    pub(super) fn gains(&self, improved: &[Improved]) -> u64 {
        improved.iter().map(|entry| self.gain(entry.doc, entry.similarity)).sum()
    }

    /// The greatest similarity of a document to a seed so far.
    pub(super) fn best(&self, doc: usize) -> f64 {
        self.blocks[doc / BLOCK_DOCS].best[doc % BLOCK_DOCS]
    }

    pub(super) fn blocks(&self) -> &[WeightBlock] {
        &self.blocks
    }
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

    /// The greatest similarity of each document to a seed so far, in [`SIMILARITY_STEPS`], rounded
    /// down; `u16::MAX` for documents that cannot be drawn.
    pub(super) fn rough_best(&self) -> &[u16] {
        &self.rough_best
    }

    /// The greatest similarity of each document to a seed so far; infinite for documents that
    /// cannot be drawn.
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

    /// The amount by which a seed with this similarity would lower the document's weight.
    fn gain(&self, weights: &RowWeights<'_>, position: usize, similarity: f64) -> u64 {
        if similarity <= self.best[position] {
            return 0;
        }
        self.weight(weights, position) - self.weight_for(weights, position, similarity)
    }

    /// Records the similarity of a document to a new seed.
    pub(super) fn raise(&mut self, weights: &RowWeights<'_>, position: usize, similarity: f64) -> LoweredDoc {
        let gain = self.gain(weights, position, similarity);
        self.best[position] = self.best[position].max(similarity);
        self.rough_best[position] = in_steps(self.best[position]);
        LoweredDoc { doc: (self.first_doc + position) as u32, gain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn zero_rows_and_rows_without_weight_are_never_drawn() {
        let rows = SparseRows::from_parts(3, vec![0, 1, 1, 2, 3], vec![0, 1, 2], vec![1.0; 3]).unwrap();
        let rows = UnitRows::new(rows);
        let given = [1.0, 5.0, 0.0, 3.0];
        let weights = RowWeights::new(&given, 4).unwrap();
        let mut weights = SeedWeights::new(&rows, weights, Buckets::for_docs(4));
        let mut drawable = weights.drawable(0);
        drawable.sort_by_key(|drawable| drawable.doc);
        let unit = drawable[0].weight;
        assert_eq!(drawable, [Drawable { doc: 0, weight: unit }, Drawable { doc: 3, weight: 3 * unit }]);
        assert_eq!(weights.totals(), [4 * unit]);
        assert_eq!(weights.take(3).gain, 3 * unit);
        assert_eq!(weights.totals(), [unit]);
    }
}
