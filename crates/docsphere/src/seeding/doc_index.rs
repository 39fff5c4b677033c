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

use std::cmp::Reverse;
use std::ops::{AddAssign, Range};

use rayon::prelude::*;

use super::seed_weights::BLOCK_DOCS;
use crate::simd;
use crate::vectors::{Row, UnitRows};

/// Number of levels at which terms are left out.
pub(super) const N_LEVELS: usize = 8;

/// Each level keeps this share of the postings of the previous level.
const LEVEL_SHARE: f64 = 0.7;

/// Lengths of left-out parts are multiples of one over this, rounded up; a length may slightly
/// exceed one.
const LENGTH_STEPS: f64 = 254.0;

/// How many lists ahead to prefetch.
const LISTS_AHEAD: usize = 3;

/// How many cache lines of values to prefetch per list.
const LINES_AHEAD: usize = 8;

/// Number of terms with a bit in each document.
const N_COMMON: usize = u64::BITS as usize;

/// Never left out.
const NEVER: u8 = N_LEVELS as u8 + 1;

/// The index over all documents.
pub(super) struct DocIndex {
    blocks: Vec<DocBlock>,
    /// The number of documents that contain each term.
    doc_frequency: Vec<u32>,
    /// The first level, from 1, at which each term is left out; [`NEVER`] if none.
    first_level_without: Vec<u8>,
    common: CommonTerms,
}

/// The most frequent terms, ascending.
struct CommonTerms(Vec<u32>);

/// One block of documents.
pub(super) struct DocBlock {
    lists: Lists,
    /// For each level from 1 on, for each document: the length of the left-out part.
    lengths_out: Vec<Vec<u8>>,
    /// For each document: which of the most frequent terms it has.
    common: Vec<u64>,
}

/// The posting lists of one block.
struct Lists {
    /// The distinct terms, ascending.
    terms: Vec<u32>,
    /// Start of the list of each term, and one more entry for the end.
    starts: Vec<u64>,
    /// Terms that agree in all but their lowest `group_shift` bits form a group: the start of each
    /// group among the terms, and one more entry for the end.
    groups: Vec<u32>,
    group_shift: u32,
    /// Positions within the block.
    docs: Vec<u16>,
    values: Vec<f32>,
}

/// Scratch: the ranges of the lists of a seed's entries, and the values of the entries.
pub(super) type FoundLists = Vec<(Range<usize>, f32)>;

/// A seed split by a level: the entries to look up, and the length of the others.
pub(super) struct Split {
    pub(super) level: usize,
    pub(super) entries: Vec<(u32, f32)>,
    /// Upper bound on what the left-out part can add, per step of a document's length. Rounded up.
    pub(super) out_per_step: f32,
    /// Which of the most frequent terms were left out.
    pub(super) common: u64,
    /// Their squares.
    common_squares: [f32; N_COMMON],
    /// The sum of squares of the other left-out terms.
    rest_square: f32,
}

impl Split {
    /// Scales the seed up.
    pub(super) fn lengthen(&mut self, factor: f32) {
        self.entries.iter_mut().for_each(|(_, value)| *value *= factor);
        self.out_per_step *= factor;
        self.common_squares.iter_mut().for_each(|square| *square *= factor * factor);
        self.rest_square *= factor * factor;
    }

    /// Like `out_per_step`, for documents with exactly these common terms.
    #[inline]
    pub(super) fn out_for(&self, common: u64) -> f32 {
        let mut both = common & self.common;
        let mut square = self.rest_square;
        while both != 0 {
            square += self.common_squares[both.trailing_zeros() as usize];
            both &= both - 1;
        }
        square.sqrt() * PER_STEP
    }
}

impl CommonTerms {
    fn new(doc_frequency: &[u32]) -> Self {
        let mut terms: Vec<u32> = (0..doc_frequency.len() as u32).collect();
        let rarity = |&term: &u32| (Reverse(doc_frequency[term as usize]), term);
        if terms.len() > N_COMMON {
            terms.select_nth_unstable_by_key(N_COMMON, rarity);
            terms.truncate(N_COMMON);
        }
        terms.sort_unstable();
        CommonTerms(terms)
    }

    /// The bit of a term, if it has one.
    fn bit(&self, term: u32) -> Option<usize> {
        self.0.binary_search(&term).ok()
    }

    /// For each document of a block: which of these terms it has.
    fn bits(&self, lists: &Lists, n_docs: usize) -> Vec<u64> {
        let mut bits = vec![0; n_docs];
        for (bit, &term) in self.0.iter().enumerate() {
            let range = lists.range(term).unwrap_or_default();
            lists.docs[range].iter().for_each(|&doc| bits[usize::from(doc)] |= 1 << bit);
        }
        bits
    }
}

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

/// A length per step of a document's length, increased by 5e-6 of it: f32 sums of [`N_COMMON`]
/// squares err by less.
const PER_STEP: f32 = ((1.0 + 5e-6) / LENGTH_STEPS) as f32;

/// The length of a part of a seed with this sum of squares, per step of a document's length.
fn per_step(square: f64) -> f32 {
    f64::sqrt(square) as f32 * PER_STEP
}

/// The documents of a block.
fn docs_of(rows: &UnitRows<'_>, first_doc: usize) -> Range<usize> {
    first_doc..rows.n_rows().min(first_doc + BLOCK_DOCS)
}

/// For each level the sum of the squares of the terms that it is the first to leave out; after the
/// last level, of those that are never left out.
fn squares(row: Row<'_>, first_level_without: &[u8]) -> [f64; N_LEVELS + 2] {
    let mut squares = [0.0; N_LEVELS + 2];
    for (term, value) in row.iter() {
        squares[usize::from(first_level_without[term as usize])] += f64::from(value) * f64::from(value);
    }
    squares
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

impl Lists {
    /// `next` is scratch: one number per term, all zero before and after.
    fn new(rows: &UnitRows<'_>, first_doc: usize, next: &mut [usize]) -> Self {
        let docs = docs_of(rows, first_doc);
        let mut terms = Vec::new();
        for doc in docs.clone() {
            for &term in rows.row(doc).terms {
                let count = &mut next[term as usize];
                if *count == 0 {
                    terms.push(term);
                }
                *count += 1;
            }
        }
        terms.sort_unstable();
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut nnz = 0;
        for &term in &terms {
            starts.push(nnz as u64);
            nnz += std::mem::replace(&mut next[term as usize], nnz);
        }
        starts.push(nnz as u64);
        let mut lists = Lists {
            starts,
            groups: Vec::new(),
            group_shift: 0,
            docs: vec![0; nnz],
            values: vec![0.0; nnz],
            terms,
        };
        for (position, doc) in docs.enumerate() {
            for (term, value) in rows.row(doc).iter() {
                let place = &mut next[term as usize];
                lists.docs[*place] = position as u16;
                lists.values[*place] = value;
                *place += 1;
            }
        }
        for &term in &lists.terms {
            next[term as usize] = 0;
        }
        lists.make_groups(rows.n_terms());
        lists
    }

    /// Groups of two terms on average.
    fn make_groups(&mut self, n_terms: usize) {
        while (n_terms >> self.group_shift) > self.terms.len() / 2 + 1 {
            self.group_shift += 1;
        }
        self.groups = vec![0; (n_terms >> self.group_shift) + 2];
        for &term in &self.terms {
            self.groups[(term >> self.group_shift) as usize + 1] += 1;
        }
        for group in 1..self.groups.len() {
            self.groups[group] += self.groups[group - 1];
        }
    }

    /// Prefetches the start of a list.
    fn prefetch(&self, range: &Range<usize>) {
        const CACHE_LINE: usize = 64;
        for place in range.clone().step_by(CACHE_LINE / size_of::<f32>()).take(LINES_AHEAD) {
            simd::prefetch(&self.values, place);
        }
        for place in range.clone().step_by(CACHE_LINE / size_of::<u16>()).take(LINES_AHEAD / 2) {
            simd::prefetch(&self.docs, place);
        }
    }

    /// The range of a term's list.
    fn range(&self, term: u32) -> Option<Range<usize>> {
        let group = (term >> self.group_shift) as usize;
        let (first, end) = (self.groups[group] as usize, self.groups[group + 1] as usize);
        let list = first + self.terms[first..end].iter().position(|&other| other == term)?;
        Some(self.starts[list] as usize..self.starts[list + 1] as usize)
    }
}

/// Chooses the terms that each level leaves out: the most frequent ones, until the others reach the
/// level's share of the cost.
fn first_levels_without(doc_frequency: &[u32]) -> Vec<u8> {
    // A drawn document has term t with a probability proportional to t's document frequency, and
    // then t's list is scanned.
    let mut by_frequency: Vec<u32> = doc_frequency.to_vec();
    by_frequency.sort_unstable_by(|a, b| b.cmp(a));
    let cost = |frequency: u32| u128::from(frequency) * u128::from(frequency);
    let total: u128 = by_frequency.iter().map(|&frequency| cost(frequency)).sum();
    let mut limits = [0; N_LEVELS];
    let mut left = total;
    let mut most_frequent = by_frequency.into_iter();
    for (level, limit) in (1..).zip(&mut limits) {
        let wanted = (total as f64 * LEVEL_SHARE.powi(level)) as u128;
        while left > wanted {
            let Some(frequency) = most_frequent.next() else { break };
            left -= cost(frequency);
            *limit = frequency;
        }
    }
    // A level without terms of its own leaves out the same terms as the previous one.
    for level in 0..N_LEVELS {
        if limits[level] == 0 {
            limits[level] = if level == 0 { u32::MAX } else { limits[level - 1] };
        }
    }
    let first_level = |&frequency: &u32| {
        limits.iter().position(|&limit| frequency >= limit).map_or(NEVER, |index| index as u8 + 1)
    };
    doc_frequency.iter().map(first_level).collect()
}

/// See [`DocBlock`].
fn lengths_out(rows: &UnitRows<'_>, first_doc: usize, first_level_without: &[u8]) -> Vec<Vec<u8>> {
    let docs = docs_of(rows, first_doc);
    let mut lengths = vec![vec![0; docs.len()]; N_LEVELS];
    // Adding a millionth covers the rounding. At most 254.001: unit rows are that close to one.
    let in_steps = |square: f64| (f64::sqrt(square) * (1.0 + 1e-6) * LENGTH_STEPS).ceil() as u8;
    for (position, doc) in docs.enumerate() {
        let squares = squares(rows.row(doc), first_level_without);
        let mut square = 0.0;
        for level in 1..=N_LEVELS {
            square += squares[level];
            lengths[level - 1][position] = in_steps(square);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn levels_leave_out_the_most_frequent_terms_first() {
        let first = first_levels_without(&[10, 1, 100, 0, 30]);
        // The squares are 100, 1, 10,000, 0 and 900. Without term 2 a share of 0.091 is left,
        // enough for 0.7^6; without term 4 0.009.
        assert_eq!(first, [NEVER, NEVER, 1, NEVER, 7]);
        assert_eq!(first_levels_without(&[5, 5, 5]), [1; 3], "equal terms stay together");
        assert_eq!(first_levels_without(&[0, 0]), [NEVER; 2]);
    }

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

    #[test]
    fn lists_are_found_by_their_term() {
        let terms = vec![7, 90, 91, 7, 4000, 91];
        let rows = SparseRows::from_parts(5000, vec![0, 3, 5, 6], terms, vec![1.0; 6]).unwrap();
        let lists = Lists::new(&UnitRows::new(rows), 0, &mut vec![0; 5000]);
        let docs = |term| lists.range(term).map(|range| lists.docs[range].to_vec());
        assert_eq!(docs(7), Some(vec![0, 1]));
        assert_eq!(docs(91), Some(vec![0, 2]));
        assert_eq!(docs(4000), Some(vec![1]));
        assert_eq!([docs(0), docs(92), docs(4999)], [None, None, None]);
    }
}
