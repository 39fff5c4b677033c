//! An inverted index over the documents, to find those that a new seed would bring nearer than any
//! seed so far.
//!
//! Documents are divided into blocks; each block has its own posting lists, so blocks can be
//! processed in parallel and a block's accumulators stay in cache.
//!
//! **Levels.** Most of the postings that a seed meets belong to a few frequent terms with low
//! weights. Level l leaves out the most frequent terms, as many as needed for the others to cost
//! `LEVEL_SHARE^l` of a query on average. For each level, each document stores the length of its
//! left-out part, rounded up to a byte: by Cauchy-Schwarz the terms left out of seed c and row x
//! add at most `|c_out| * |x_out|` to their similarity. At level 0 nothing is left out.
//!
//! **Common terms.** Each document has one bit per term of the 64 most frequent ones, which says
//! whether the document has the term. Of the terms left out of the seed, only those count that both
//! have, and those without a bit: with `c_both` for these, `|c_both| * |x_out|` is a tighter bound.
//!
//! **Cost.** Memory: 6 bytes per nonzero, 14 per distinct term of each block, 8 and [`N_LEVELS`]
//! bytes per document, 5 per term; while it is built, 8 bytes per term and thread.

mod levels;
mod lists;
mod split;

use std::ops::{AddAssign, Range};

use rayon::prelude::*;

use self::levels::{first_levels_without, lengths_out, per_step, squares};
use self::lists::{Lists, docs_of};
use self::split::{CommonTerms, N_COMMON};
use super::seed_weights::BLOCK_DOCS;
use crate::vectors::{Row, UnitRows};

pub(super) use self::levels::N_LEVELS;
pub(super) use self::split::Split;

/// How many lists ahead to prefetch.
const LISTS_AHEAD: usize = 3;

/// The index over all documents.
pub(super) struct DocIndex {
    blocks: Vec<DocBlock>,
    /// The number of documents that contain each term.
    doc_frequency: Vec<u32>,
    /// The first level, from 1, at which each term is left out; [`NEVER`](levels::NEVER) if none.
    first_level_without: Vec<u8>,
    common: CommonTerms,
}

/// One block of documents.
pub(super) struct DocBlock {
    lists: Lists,
    /// For each level from 1 on, for each document: the length of the left-out part.
    lengths_out: Vec<Vec<u8>>,
    /// For each document: which of the most frequent terms it has.
    common: Vec<u64>,
}

/// Scratch: the ranges of the lists of a seed's entries, and the values of the entries.
pub(super) type FoundLists = Vec<(Range<usize>, f32)>;

impl DocIndex {
    pub(super) fn new(rows: &UnitRows<'_>) -> Self {
        let n_blocks = rows.n_rows().div_ceil(BLOCK_DOCS);
        let scratch = || vec![0; rows.n_terms()];
        let lists: Vec<Lists> = (0..n_blocks)
            .into_par_iter()
            .map_init(scratch, |next, block| Lists::new(rows, block * BLOCK_DOCS, next))
            .collect();
        let mut doc_frequency = vec![0; rows.n_terms()];
        for lists in &lists {
            for (&term, ends) in lists.terms.iter().zip(lists.starts.windows(2)) {
                doc_frequency[term as usize] += (ends[1] - ends[0]) as u32; // fits: at most MAX_ROWS in all
            }
        }
        let first_level_without = first_levels_without(&doc_frequency);
        let common = CommonTerms::new(&doc_frequency);
        let with_lengths = |(block, lists)| {
            let lengths_out = lengths_out(rows, block * BLOCK_DOCS, &first_level_without);
            let docs = docs_of(rows, block * BLOCK_DOCS);
            let bits = common.bits(&lists, docs.len());
            DocBlock { lists, lengths_out, common: bits }
        };
        let blocks = lists.into_par_iter().enumerate().map(with_lengths).collect();
        DocIndex { blocks, doc_frequency, first_level_without, common }
    }

    pub(super) fn blocks(&self) -> &[DocBlock] {
        &self.blocks
    }

    /// For each level, from 0: the number of postings that a query for the row reads, and
    /// `out_per_step` as in [`Split`].
    pub(super) fn levels(&self, row: Row<'_>) -> [(u64, f32); N_LEVELS + 1] {
        let mut postings = [0; N_LEVELS + 2];
        for &term in row.terms {
            postings[self.first_level(term)] += u64::from(self.doc_frequency[term as usize]);
        }
        let squares = squares(row, &self.first_level_without);
        let mut left = postings.iter().sum();
        let mut square = 0.0;
        std::array::from_fn(|level| {
            left -= postings[level];
            square += squares[level];
            (left, per_step(square))
        })
    }

    fn first_level(&self, term: u32) -> usize {
        usize::from(self.first_level_without[term as usize])
    }

    /// Splits a row by a level.
    pub(super) fn split(&self, row: Row<'_>, level: usize) -> Split {
        let squares = squares(row, &self.first_level_without);
        let stays = |&(term, _): &(u32, f32)| self.first_level(term) > level;
        let (mut common, mut common_squares, mut rest_square) = (0, [0.0; N_COMMON], 0.0);
        for (term, value) in row.iter().filter(|entry| !stays(entry)) {
            if let Some(bit) = self.common.bit(term) {
                common |= 1 << bit;
                common_squares[bit] = value * value;
            } else {
                rest_square += f64::from(value) * f64::from(value);
            }
        }
        let out_per_step = per_step(squares[..=level].iter().sum());
        Split {
            level,
            entries: row.iter().filter(stays).collect(),
            out_per_step,
            common,
            common_squares,
            rest_square: rest_square as f32,
        }
    }
}

impl DocBlock {
    /// Adds to each document's sum its similarity to the entries of the seed that were not left
    /// out, in ascending order of term.
    pub(super) fn accumulate<T: AddAssign>(
        &self,
        split: &Split,
        lists: &mut FoundLists,
        sums: &mut [T; BLOCK_DOCS],
        product: impl Fn(f32, f32) -> T,
    ) {
        // All lists are located before the first is read, so that searches wait neither for each
        // other nor for memory.
        let found = split.entries.iter().filter_map(|&(term, c)| Some((self.lists.range(term)?, c)));
        lists.clear();
        lists.extend(found);
        for (number, (range, c)) in lists.iter().enumerate() {
            if let Some((ahead, _)) = lists.get(number + LISTS_AHEAD) {
                self.lists.prefetch(ahead);
            }
            for (&doc, &x) in self.lists.docs[range.clone()].iter().zip(&self.lists.values[range.clone()]) {
                // The remainder changes nothing, but proves to the compiler that the index is in
                // range.
                sums[usize::from(doc) % BLOCK_DOCS] += product(x, *c);
            }
        }
    }

    /// The lengths of the part that a level leaves out of each document, in steps; `None` at level
    /// 0.
    pub(super) fn lengths_out(&self, level: usize) -> Option<&[u8]> {
        level.checked_sub(1).map(|index| &self.lengths_out[index][..])
    }

    /// For each document: which of the most frequent terms it has.
    pub(super) fn common(&self) -> &[u64] {
        &self.common
    }
}

#[cfg(test)]
mod tests {
    use super::levels::LENGTH_STEPS;
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn what_is_left_out_has_at_most_its_rounded_length() {
        let rows = SparseRows::from_parts(3, vec![0, 3, 4, 6], vec![0, 1, 2, 0, 0, 1], vec![3.0; 6]).unwrap();
        let rows = UnitRows::new(rows);
        let index = DocIndex::new(&rows);
        for level in 1..=N_LEVELS {
            let lengths = index.blocks()[0].lengths_out(level).unwrap();
            for (row, &length) in rows.iter().zip(lengths) {
                let out = row
                    .iter()
                    .filter(|&(term, _)| usize::from(index.first_level_without[term as usize]) <= level);
                let exact = out.map(|(_, x)| f64::from(x).powi(2)).sum::<f64>().sqrt();
                let rounded = f64::from(length) / LENGTH_STEPS;
                assert!((exact..exact + 0.005).contains(&rounded), "{exact} {rounded}");
                let (_, out_per_step) = index.levels(row)[level];
                assert!((exact..exact + 1e-5).contains(&(f64::from(out_per_step) * LENGTH_STEPS)));
                let common = f64::from(index.split(row, level).out_for(u64::MAX)) * LENGTH_STEPS;
                assert!((exact..exact + 1e-5).contains(&common));
            }
        }
    }

    #[test]
    fn what_is_left_out_counts_if_it_is_not_common_or_both_have_it() {
        // A row of all 100 terms and one of the first 70: these are left out first, and 64 of them
        // have a bit.
        let terms: Vec<u32> = (0..100).chain(0..70).collect();
        let rows = SparseRows::from_parts(100, vec![0, 100, 170], terms, vec![1.0; 170]).unwrap();
        let index = DocIndex::new(&UnitRows::new(rows.clone()));
        let rows = UnitRows::new(rows);
        let split = index.split(rows.row(0), 1);
        assert_eq!(split.entries.len(), 30);
        let length = |common| f64::from(split.out_for(common)) * LENGTH_STEPS;
        let near = |common, n_terms: f64| (length(common) - f64::sqrt(n_terms / 100.0)).abs() < 1e-5;
        assert!(near(u64::MAX, 70.0), "all");
        assert!(near(0, 6.0), "those without a bit");
        assert!(near(0b1011, 9.0), "and three more");
        assert_eq!(index.blocks()[0].common(), [u64::MAX; 2]);
    }
}
