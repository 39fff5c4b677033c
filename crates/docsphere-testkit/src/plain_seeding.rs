//! The seeding draws by their definition: after every seed, every document is compared with it and
//! all weights are summed again.
//!
//! Costs O(nonzeros) per seed (the greedy form: per document drawn, and O(documents) for each of
//! them in every step). The library's index over the documents must draw the same documents.

use docsphere::{DocId, Row, UnitRows};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::fixed_point::{RowWeights, fixed};
use crate::reference::{SparseVector, similarities_to};

/// A document nearer than this to a seed is not drawn any more.
const SMALLEST_GAP: f64 = 2e-6;

/// The inputs of the draws. The methods return the documents in drawing order: at most
/// `n_clusters`, fewer if no document with weight is left.
#[derive(Clone, Copy, Debug)]
pub struct PlainSeeding<'a> {
    /// The documents.
    pub rows: &'a UnitRows<'a>,
    /// One weight per document, or none.
    pub weights: Option<&'a [f64]>,
    /// The number of seeds to draw.
    pub n_clusters: usize,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of the run: the stream of the random numbers.
    pub run: u64,
}

impl PlainSeeding<'_> {
    /// Documents drawn by their row weights only.
    pub fn random(&self) -> Vec<DocId> {
        let mut draws = Draws::new(self);
        while let Some(doc) = draws.next_doc() {
            draws.keep(doc);
        }
        draws.drawn
    }

    /// k-means++: documents drawn by row weight and gap to the nearest seed.
    pub fn plus_plus(&self) -> Vec<DocId> {
        let mut draws = Draws::new(self);
        while let Some(doc) = draws.next_doc() {
            draws.best = draws.best_with(&draws.similarities(doc));
            draws.keep(doc);
        }
        draws.drawn
    }

    /// Greedy k-means++: each step after the first draws `candidates` documents as
    /// [`plus_plus`](Self::plus_plus) does; the best of all documents drawn so far becomes a seed.
    ///
    /// # Panics
    /// If `candidates` is zero.
    pub fn greedy(&self, candidates: usize) -> Vec<DocId> {
        assert!(candidates > 0, "at least one candidate");
        let mut draws = Draws::new(self);
        // In drawing order, with their similarities to all documents.
        let mut pool: Vec<(usize, Vec<f64>)> = Vec::new();
        loop {
            let n_drawn = if draws.drawn.is_empty() { 1 } else { candidates };
            let docs: Vec<usize> = (0..n_drawn).filter_map(|_| draws.next_doc()).collect();
            if docs.is_empty() {
                return draws.drawn;
            }
            pool.extend(docs.iter().map(|&doc| (doc, draws.similarities(doc))));
            // Ties go to the earliest drawn: `min_by_key` returns the first of equal ones.
            let totals = pool.iter().map(|(doc, similarities)| draws.total_with(*doc, similarities));
            let (chosen, _) = totals.enumerate().min_by_key(|&(_, total)| total).expect("not empty");
            let (doc, similarities) = pool.remove(chosen);
            draws.best = draws.best_with(&similarities);
            draws.keep(doc);
        }
    }
}

/// Documents ascending by the hash of their terms, then by their values, then in input order.
fn order(rows: &UnitRows<'_>) -> Vec<usize> {
    let mut docs: Vec<usize> = (0..rows.n_rows()).collect();
    docs.sort_by(|&a, &b| {
        let (a, b) = (rows.row(a), rows.row(b));
        terms_hash(a, 0).cmp(&terms_hash(b, 0)).then(a.values.partial_cmp(b.values).expect("finite"))
    });
    docs
}

/// The hash of a row: for each term, ascending, `h = mix(h XOR (term + 1))`, from `start`.
pub(crate) fn terms_hash(row: Row<'_>, start: u64) -> u64 {
    let mut hash = start;
    for (term, _) in row.iter() {
        hash ^= u64::from(term) + 1;
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
    }
    hash
}

/// The state of the draws: the seeds so far, and their effect on every document.
struct Draws<'a> {
    input: &'a PlainSeeding<'a>,
    weights: RowWeights<'a>,
    random: ChaCha8Rng,
    drawn: Vec<DocId>,
    is_drawn: Vec<bool>,
    /// The order of the running totals.
    order: Vec<usize>,
    /// Each document's greatest similarity to a seed so far; 0 before the first, and always 0 for
    /// the random draws.
    best: Vec<f64>,
}

impl<'a> Draws<'a> {
    fn new(input: &'a PlainSeeding<'a>) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(input.seed);
        random.set_stream(input.run);
        let n_docs = input.rows.n_rows();
        let weights = RowWeights::new(input.weights, n_docs);
        Draws {
            input,
            weights,
            random,
            drawn: Vec::new(),
            is_drawn: vec![false; n_docs],
            order: order(input.rows),
            best: vec![0.0; n_docs],
        }
    }

    /// Draws a document; `None` if there are enough seeds or no document with weight is left. Does
    /// not make it a seed.
    fn next_doc(&mut self) -> Option<usize> {
        let seed_weights = self.seed_weights(&self.best);
        let total: u64 = seed_weights.iter().sum();
        if self.drawn.len() == self.input.n_clusters || total == 0 {
            return None;
        }
        let number = number_below(&mut self.random, total);
        let mut running_total = 0;
        self.order.iter().copied().find(|&doc| {
            running_total += seed_weights[doc];
            running_total > number
        })
    }

    /// Makes the document a seed. The caller must update `best`.
    fn keep(&mut self, doc: usize) {
        self.is_drawn[doc] = true;
        self.drawn.push(DocId::new(doc as u32));
    }

    /// The seed weight of every document, given its best similarity to a seed.
    fn seed_weights(&self, best: &[f64]) -> Vec<u64> {
        let mut weights = vec![0; best.len()];
        for (doc, row) in self.input.rows.iter().enumerate() {
            let gap = 1.0 - best[doc].max(0.0);
            if gap >= SMALLEST_GAP && row.nnz() > 0 && !self.is_drawn[doc] {
                weights[doc] = u64::try_from(self.weights.weighed(fixed(gap), doc)).expect("at most 2^62");
            }
        }
        weights
    }

    /// The similarity of every document to `doc`.
    fn similarities(&self, doc: usize) -> Vec<f64> {
        similarities_to(self.input.rows, &vector(self.input.rows.row(doc))).into_iter().collect()
    }

    /// Each document's best similarity if a document with these similarities becomes a seed.
    fn best_with(&self, similarities: &[f64]) -> Vec<f64> {
        self.best.iter().zip(similarities).map(|(&best, &new)| best.max(new)).collect()
    }

    /// The total of all seed weights if `doc`, with these similarities, becomes a seed.
    fn total_with(&self, doc: usize, similarities: &[f64]) -> u64 {
        let mut seed_weights = self.seed_weights(&self.best_with(similarities));
        seed_weights[doc] = 0; // it would be drawn
        seed_weights.iter().sum()
    }
}

/// A row as a centroid: a seed is the document's unit row, bit for bit.
pub(crate) fn vector(row: Row<'_>) -> SparseVector {
    row.iter().filter(|&(_, value)| value != 0.0).collect()
}

/// A random number below `n`: 128 random bits times `n`, the part above bit 128.
fn number_below(random: &mut ChaCha8Rng, n: u64) -> u64 {
    let high = u128::from(random.next_u64());
    let low = u128::from(random.next_u64());
    let n = u128::from(n);
    // (high * 2^64 + low) * n, without the lowest 64 bits, fits into 128 bits.
    ((high * n + ((low * n) >> 64)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_rows::{RandomRows, random_rows};
    use crate::rows_from;
    use std::collections::BTreeSet;

    fn seeding<'a>(rows: &'a UnitRows<'a>, n_clusters: usize, seed: u64) -> PlainSeeding<'a> {
        PlainSeeding { rows, weights: None, n_clusters, seed, run: 0 }
    }

    fn three_twins_and_a_zero_row() -> UnitRows<'static> {
        let (a, b, c) = (&[(0, 1.0)][..], &[(1, 2.0)][..], &[(0, 1.0), (2, 1.0)][..]);
        rows_from(3, &[a, b, c, a, b, c, &[]])
    }

    #[test]
    fn the_number_is_the_product_above_bit_128() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (high, low) = (random.next_u64(), random.next_u64());
        let mut again = ChaCha8Rng::seed_from_u64(1);
        // n = 2^63: the product above bit 128 is the upper 63 bits.
        assert_eq!(number_below(&mut again, 1 << 63), high >> 1);
        // n = 3, by hand: how often 2^128 goes into 3 * bits.
        let bits = (u128::from(high) << 64) | u128::from(low);
        let third = u128::MAX / 3; // 2^128 / 3, rounded down, since 2^128 - 1 is a multiple of 3
        let by_hand = u64::from(bits > third) + u64::from(bits > 2 * third);
        let mut again = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(number_below(&mut again, 3), by_hand);
    }

    #[test]
    fn the_first_document_past_the_number_is_drawn() {
        // Two documents without a common term weigh 2^32 each: a number below 2^32 draws the first.
        let rows = rows_from(2, &[&[(0, 1.0)], &[(1, 1.0)]]);
        for seed in 0..20 {
            let number = number_below(&mut ChaCha8Rng::seed_from_u64(seed), 1 << 33);
            let expected = if number < 1 << 32 { 0 } else { 1 };
            for drawn in [seeding(&rows, 1, seed).random(), seeding(&rows, 1, seed).greedy(5)] {
                assert_eq!(drawn, [DocId::new(expected)]);
            }
        }
    }

    #[test]
    fn random_draws_every_row_once_but_no_zero_row() {
        let rows = three_twins_and_a_zero_row();
        let drawn = seeding(&rows, 7, 3).random();
        let distinct: BTreeSet<_> = drawn.iter().map(|doc| doc.index()).collect();
        assert_eq!(drawn.len(), 6, "the zero row cannot be drawn");
        assert_eq!(distinct, [0, 1, 2, 3, 4, 5].into());
    }

    #[test]
    fn plus_plus_draws_no_twin_of_a_seed() {
        let rows = three_twins_and_a_zero_row();
        for seed in 0..30 {
            for drawn in [seeding(&rows, 6, seed).plus_plus(), seeding(&rows, 6, seed).greedy(3)] {
                let kinds: BTreeSet<_> = drawn.iter().map(|doc| doc.index() % 3).collect();
                assert_eq!((drawn.len(), kinds.len()), (3, 3), "{drawn:?}");
            }
        }
    }

    #[test]
    fn greedy_takes_the_candidate_that_leaves_the_smallest_total() {
        // Seed 0 is alone on term 0. Documents 1, 2, 3 are alike: any of them as a seed leaves only
        // document 4 without one.
        let alike = &[(1, 1.0), (2, 0.001)][..];
        let rows = rows_from(4, &[&[(0, 1.0)], alike, &[(1, 1.0)], alike, &[(3, 1.0)]]);
        let mut second_is_4 = 0;
        for seed in 0..200 {
            let drawn = seeding(&rows, 2, seed).greedy(16);
            if drawn[0].index() == 0 && drawn[1].index() == 4 {
                second_is_4 += 1;
            }
        }
        // Only if all 16 candidates are document 4, which has a quarter of the weight.
        assert_eq!(second_is_4, 0);
    }

    #[test]
    fn a_candidate_that_lost_may_win_later() {
        // Three sets without a common term, of 6, 5 and 4 like rows: with enough candidates they
        // come in order of size, whichever was drawn alone at first.
        let (a, b, c) = (&[(0, 1.0)][..], &[(1, 1.0)][..], &[(2, 1.0)][..]);
        let rows = rows_from(3, &[a, a, a, a, a, a, b, b, b, b, b, c, c, c, c]);
        let heap = |doc: &DocId| [6, 11, 15].iter().position(|&end| doc.index() < end).unwrap();
        for seed in 0..20 {
            let drawn = seeding(&rows, 3, seed).greedy(40);
            let heaps: Vec<usize> = drawn.iter().map(heap).collect();
            assert!(heaps[1] < heaps[2], "{heaps:?}");
        }
        // Candidates of the second step that lost to the larger set are in the pool: the third seed
        // is the earliest drawn of them.
        let two = seeding(&rows, 2, 5).greedy(40);
        let three = seeding(&rows, 3, 5).greedy(40);
        assert_eq!(two, three[..2], "the pool leaves the draws before it as they are");
    }

    #[test]
    fn one_greedy_candidate_is_plus_plus() {
        let rows = random_rows(&RandomRows { n_docs: 60, seed: 5, ..RandomRows::default() });
        assert_eq!(seeding(&rows, 20, 9).greedy(1), seeding(&rows, 20, 9).plus_plus());
    }

    #[test]
    fn runs_have_streams_of_their_own() {
        let rows = random_rows(&RandomRows { n_docs: 200, seed: 5, ..RandomRows::default() });
        let runs: Vec<_> =
            (0..3).map(|run| PlainSeeding { run, ..seeding(&rows, 5, 7) }.plus_plus()).collect();
        assert!(runs[0] != runs[1] && runs[1] != runs[2]);
        assert_eq!(runs[0], seeding(&rows, 5, 7).plus_plus());
    }

    #[test]
    fn weights_of_one_draw_as_no_weights_and_weight_zero_is_never_drawn() {
        let rows = random_rows(&RandomRows { n_docs: 50, seed: 2, ..RandomRows::default() });
        let ones = vec![1.0; 50];
        let evens: Vec<f64> = (0..50).map(|doc| f64::from(doc % 2)).collect();
        for seed in 0..5 {
            let plain = seeding(&rows, 8, seed);
            let weighted = PlainSeeding { weights: Some(&ones), ..plain };
            assert_eq!(plain.random(), weighted.random());
            assert_eq!(plain.plus_plus(), weighted.plus_plus());
            assert_eq!(plain.greedy(3), weighted.greedy(3));
            let weighted = PlainSeeding { weights: Some(&evens), ..plain };
            assert!(weighted.greedy(2).iter().all(|doc| doc.index() % 2 == 1));
        }
    }
}
