//! Duplicates: rows that are equal or nearly equal to an earlier one.
//!
//! Two rows are *near-duplicates* if their similarity is at least a threshold; the summary of a
//! cluster counts them by the same definition. Rows are taken in order. A row that is similar
//! enough to an earlier row that is no copy itself becomes a *copy* of the first such row, its
//! *representative*. So a copy is compared with representatives only, and there are no chains. Zero
//! rows are never copies.
//!
//! # The search
//!
//! *Equal rows* meet when all rows are sorted by a hash of their entries; rows with the same hash
//! are compared.
//!
//! *Near-duplicates* share a rare term. Order the terms of all rows by the number of their rows,
//! rarest first. Let m be the first common term of two rows x and y in this order, and `x_m` the
//! part of x from m on. Then the similarity of x and y is that of `x_m` and `y_m`, by
//! Cauchy-Schwarz at most `|x_m| |y_m|`, and neither length is above 1. So if it is at least the
//! threshold t:
//!
//! - m is in the *head* of both rows, the terms m for which `|x_m| >= t`. Lists of the
//!   representatives by the terms of their heads have all candidates.
//! - `|x_m| |y_m| >= t`, for at least one of the common terms in both heads. The lists hold
//!   `1 - |y_m|²`, so most candidates are dropped at once.
//!
//! The others are compared term by term, in ascending order, as long as the sum so far and the
//! lengths of the parts that are left can reach t; what gets through is compared with the
//! similarity itself. Unit rows may be longer than 1 by 5e-7, and sums are rounded: the bounds take
//! squared lengths of `1 + 2e-6`, and a threshold that is lower by 1e-5.
//!
//! Rows are processed in blocks. The threads compare the rows of a block with the representatives
//! of earlier blocks; then the others are compared with those of their own block, one after the
//! other. Blocks depend only on the rows, so the number of threads changes nothing.
//!
//! **Cost.** For texts a pass over the rows, and a few candidates for each. A row looks at no more
//! than [`MAX_STEPS`] entries of the lists, the latest of its rarest terms: in data where all rows
//! consist of the same few terms, some near-duplicates may be missed beyond that. Equal rows never
//! are.
//!
//! **Memory.** 28 bytes per row, 8 per term, and 12 for each entry of a head (at a threshold of 0.9
//! the rarest terms with a fifth of the squared length).
//!
//! Reference: Bayardo, Ma, Srikant: "Scaling up all pairs similarity search", WWW 2007,
//! doi:10.1145/1242572.1242591.

use rayon::prelude::*;

use super::rows::{Row, check_size};
use super::unit::UnitRows;
use crate::error::{Error, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};

/// Two rows with this similarity or more are near-duplicates, by default.
pub const NEAR_DUPLICATE: f64 = 0.9;

/// Slack of the threshold.
const SLACK: f64 = 1e-5;

/// An upper bound of the squared length of a unit row, with room for rounding.
const SQUARED_LENGTH: f64 = 1.0 + 2e-6;

/// Maximum number of rows of a block.
const BLOCK_ROWS: usize = 4096;

/// A block with more entries has only one row.
const BLOCK_ENTRIES: usize = 1 << 20;

/// Maximum number of list entries that a row looks at, among representatives of earlier blocks, and
/// once more among those of its own.
const MAX_STEPS: usize = 1 << 16;

/// Bytes per row: twice its hash and number while they are sorted (24), its representative (4).
const ROW_BYTES: usize = 28;

/// Bytes per term: the number of its rows, the end of its list.
const TERM_BYTES: usize = 8;

/// Ends a list.
const NONE: u32 = u32::MAX;

/// What takes the memory, for messages.
const SEARCH: &str = "the search for duplicates";

/// Which rows are copies of earlier ones.
///
/// ```
/// use docsphere::{Duplicates, NEAR_DUPLICATE, Vectorizer};
///
/// let texts = ["Cats purr!", "dogs bark", "cats PURR", "stocks fall", "cats purr"];
/// let rows = Vectorizer::new().fit_texts(&texts)?.rows;
/// let found = Duplicates::find(&rows, NEAR_DUPLICATE)?;
/// assert_eq!(found.representatives(), [0, 1, 0, 3, 0]);
/// assert_eq!((found.n_copies(), found.kept().as_slice()), (2, &[0, 1, 3][..]));
/// assert_eq!(found.weights(), [3.0, 1.0, 1.0]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Duplicates {
    representatives: Vec<u32>,
    n_copies: usize,
    n_equal: usize,
}

impl Duplicates {
    /// Finds the copies among rows: those with this similarity or more to an earlier row that is no
    /// copy. With a similarity of 1 these are rows with the same bits. On the current rayon pool.
    ///
    /// # Errors
    /// A similarity that is not from 0.5 to 1.
    pub fn find(rows: &UnitRows<'_>, similarity: f64) -> Result<Self> {
        Self::find_within(rows, similarity, &NO_LIMIT)
    }

    /// Like [`find`](Self::find), but checks the memory limit before it allocates.
    ///
    /// # Errors
    /// As [`find`](Self::find), and [`ErrorKind::Memory`](crate::ErrorKind::Memory) if the limit
    /// leaves no room.
    pub fn find_within(rows: &UnitRows<'_>, similarity: f64, memory: &MemoryLimit) -> Result<Self> {
        Self::check_similarity(similarity)?;
        memory.check(SEARCH, (ROW_BYTES * rows.n_rows() + TERM_BYTES * rows.n_terms()) as u64)?;
        let mut representatives = equal_rows(rows);
        let is_equal: Vec<u32> =
            (0..).zip(&representatives).filter(|(row, first)| row != *first).map(|(row, _)| row).collect();
        if similarity < 1.0 {
            Search::new(rows, similarity, memory).run(&mut representatives)?;
        }
        for &row in &is_equal {
            // The representative of an equal row may have become a copy.
            representatives[row as usize] = representatives[representatives[row as usize] as usize];
        }
        let is_copy = |row: &u32| representatives[*row as usize] != *row;
        let same = |row: &u32| {
            let first = representatives[*row as usize];
            first != *row && is_same(rows, first, *row)
        };
        let n_copies = (0..representatives.len() as u32).into_par_iter().filter(is_copy).count();
        let n_equal = is_equal.par_iter().filter(|row| same(row)).count();
        Ok(Duplicates { n_copies, n_equal, representatives })
    }

    /// Checks a similarity before there are rows.
    ///
    /// # Errors
    /// If it is not from 0.5 to 1.
    pub fn check_similarity(similarity: f64) -> Result<()> {
        let fits = (0.5..=1.0).contains(&similarity);
        Error::unless(fits, "duplicate_similarity", "from 0.5 to 1", similarity)
    }

    /// For each row the one that it is a copy of; the row itself if it is no copy.
    pub fn representatives(&self) -> &[u32] {
        &self.representatives
    }

    /// The number of copies.
    pub fn n_copies(&self) -> usize {
        self.n_copies
    }

    /// The number of copies that equal their representative in every bit.
    pub fn n_equal(&self) -> usize {
        self.n_equal
    }

    /// The rows that are no copies, ascending.
    pub fn kept(&self) -> Vec<u32> {
        (0..).zip(&self.representatives).filter(|(row, first)| row == *first).map(|(row, _)| row).collect()
    }

    /// For each row that is no copy, the number of rows that it stands for: its copies and itself.
    pub fn weights(&self) -> Vec<f64> {
        let mut counts = vec![0u32; self.representatives.len()];
        self.representatives.iter().for_each(|&first| counts[first as usize] += 1);
        counts.into_iter().filter(|&count| count > 0).map(f64::from).collect()
    }

    /// The rows without the copies.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](crate::ErrorKind::Memory) if the limit leaves no room for a copy of
    /// the matrix.
    ///
    /// # Panics
    /// If these are other rows than those that were searched.
    pub fn remove_copies(&self, rows: &UnitRows<'_>, memory: &MemoryLimit) -> Result<UnitRows<'static>> {
        assert_eq!(rows.n_rows(), self.representatives.len(), "the rows that were searched");
        memory.check("the matrix", (8 * rows.nnz() + 16 * rows.n_rows()) as u64)?;
        rows.select(&self.kept())
    }
}

/// For each row the first row with the same bits; itself for a zero row.
fn equal_rows(rows: &UnitRows<'_>) -> Vec<u32> {
    let n_rows = rows.n_rows() as u32; // fits: at most MAX_ROWS rows
    let mut hashed: Vec<(u64, u32)> =
        (0..n_rows).into_par_iter().map(|row| (hash(rows.row(row as usize)), row)).collect();
    hashed.par_sort_unstable();
    let mut representatives: Vec<u32> = (0..n_rows).collect();
    let mut firsts: Vec<u32> = Vec::new();
    for group in hashed.chunk_by(|a, b| a.0 == b.0) {
        firsts.clear();
        for &(_, row) in group {
            if rows.row(row as usize).nnz() == 0 {
                continue;
            }
            match firsts.iter().find(|&&first| is_same(rows, first, row)) {
                Some(&first) => representatives[row as usize] = first,
                None => firsts.push(row),
            }
        }
    }
    representatives
}

fn is_same(rows: &UnitRows<'_>, a: u32, b: u32) -> bool {
    rows.row(a as usize) == rows.row(b as usize)
}

/// A hash of the entries of a row.
fn hash(row: Row<'_>) -> u64 {
    row.iter().fold(row.nnz() as u64, |hash, (term, value)| {
        let mut z = hash ^ (u64::from(term) << 32 | u64::from(value.to_bits()));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Whether the similarity of two rows may be as high as this. Stops as soon as it cannot.
fn may_reach(x: Row<'_>, y: Row<'_>, enough: f64) -> bool {
    // The squared lengths of what is left of each row.
    let (mut rest_x, mut rest_y, mut sum) = (SQUARED_LENGTH, SQUARED_LENGTH, 0.0);
    let (mut at_x, mut at_y) = (0, 0);
    while at_x < x.nnz() && at_y < y.nnz() {
        let (term_x, term_y) = (x.terms[at_x], y.terms[at_y]);
        let (value_x, value_y) = (f64::from(x.values[at_x]), f64::from(y.values[at_y]));
        if term_x == term_y {
            sum += value_x * value_y;
        }
        if term_x <= term_y {
            rest_x -= value_x * value_x;
            at_x += 1;
        }
        if term_y <= term_x {
            rest_y -= value_y * value_y;
            at_y += 1;
        }
        let missing = enough - sum;
        if missing > 0.0 && missing * missing > rest_x * rest_y {
            return false;
        }
    }
    sum >= enough
}

/// The search for near-duplicates.
struct Search<'a> {
    rows: &'a UnitRows<'a>,
    similarity: f64,
    /// The similarity less the slack: what bounds are compared with.
    enough: f64,
    memory: &'a MemoryLimit,
    /// The number of rows that have each term.
    frequencies: Vec<u32>,
    /// For each term the last entry of its list.
    last: Vec<u32>,
    entries: Vec<ListEntry>,
}

/// An entry of the list of a term: a representative, and the entry before.
#[derive(Clone, Copy)]
struct ListEntry {
    row: u32,
    before: u32,
    /// The squared length of the part of the row before the term.
    passed: f32,
}

/// A term of the head of a row.
#[derive(Clone, Copy)]
struct HeadTerm {
    term: u32,
    /// The squared length of the part of the row before the term.
    passed: f32,
}

/// A row that has been compared with the representatives of earlier blocks.
struct Compared {
    row: u32,
    /// The first of them that is similar enough.
    found: Option<u32>,
    head: Vec<HeadTerm>,
}

impl<'a> Search<'a> {
    fn new(rows: &'a UnitRows<'a>, similarity: f64, memory: &'a MemoryLimit) -> Self {
        let last = vec![NONE; rows.n_terms()];
        let frequencies = rows.doc_frequencies();
        let enough = similarity * (1.0 - SLACK);
        Search { rows, similarity, enough, memory, frequencies, last, entries: Vec::new() }
    }

    /// Sets the representatives of near-duplicates among the rows that have none but themselves.
    fn run(mut self, representatives: &mut [u32]) -> Result<()> {
        let n_rows = representatives.len();
        let mut next = 0;
        let mut block: Vec<u32> = Vec::with_capacity(BLOCK_ROWS.min(n_rows));
        while next < n_rows {
            let mut n_entries = 0;
            block.clear();
            while next < n_rows && block.len() < BLOCK_ROWS && n_entries < BLOCK_ENTRIES {
                let nnz = self.rows.row(next).nnz();
                if representatives[next] == next as u32 && nnz > 0 {
                    block.push(next as u32);
                    n_entries += nnz;
                }
                next += 1;
            }
            self.block(&block, representatives)?;
        }
        Ok(())
    }

    fn block(&mut self, block: &[u32], representatives: &mut [u32]) -> Result<()> {
        let Some(&first_row) = block.first() else { return Ok(()) };
        let compare = |&row: &u32| {
            let head = self.head(row);
            let found = self.first_similar(row, &head, 0);
            Compared { row, found, head }
        };
        let compared: Vec<Compared> = block.par_iter().with_min_len(16).map(compare).collect();
        self.reserve(compared.iter().map(|compared| compared.head.len()).sum())?;
        for Compared { row, found, head } in compared {
            match found.or_else(|| self.first_similar(row, &head, first_row)) {
                Some(first) => representatives[row as usize] = first,
                None => self.enter(row, &head),
            }
        }
        Ok(())
    }

    /// The head of a row, rarest terms first.
    fn head(&self, row: u32) -> Vec<HeadTerm> {
        let row = self.rows.row(row as usize);
        let mut terms: Vec<(u32, u32, f32)> =
            row.iter().map(|(term, value)| (self.frequencies[term as usize], term, value)).collect();
        terms.sort_unstable_by_key(|&(frequency, term, _)| (frequency, term));
        let mut passed = 0.0;
        let mut head = Vec::new();
        for (_, term, value) in terms {
            if SQUARED_LENGTH - passed < self.enough.powi(2) {
                break;
            }
            head.push(HeadTerm { term, passed: passed as f32 });
            passed += f64::from(value).powi(2);
        }
        head
    }

    /// The first representative that is similar enough, among those from `from` on.
    fn first_similar(&self, row: u32, head: &[HeadTerm], from: u32) -> Option<u32> {
        let mut candidates = Vec::new();
        let mut n_steps = 0;
        for &HeadTerm { term, passed } in head {
            // What may have passed of the other row.
            let most = SQUARED_LENGTH - self.enough.powi(2) / (SQUARED_LENGTH - f64::from(passed));
            let mut at = self.last[term as usize];
            while at != NONE && n_steps < MAX_STEPS {
                let entry = self.entries[at as usize];
                if entry.row < from {
                    break; // entries before have smaller rows
                }
                if f64::from(entry.passed) <= most {
                    candidates.push(entry.row);
                }
                at = entry.before;
                n_steps += 1;
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        let own = self.rows.row(row as usize);
        let is_similar = |other: &u32| {
            let other = self.rows.row(*other as usize);
            may_reach(own, other, self.enough) && own.dot(other) >= self.similarity
        };
        candidates.into_iter().find(is_similar)
    }

    /// Adds a representative to the lists of its head. There is room.
    fn enter(&mut self, row: u32, head: &[HeadTerm]) {
        for &HeadTerm { term, passed } in head {
            let before = std::mem::replace(&mut self.last[term as usize], self.entries.len() as u32);
            self.entries.push(ListEntry { row, before, passed });
        }
    }

    /// Makes room for more entries.
    fn reserve(&mut self, n_more: usize) -> Result<()> {
        let needed = self.entries.len() + n_more;
        check_size("the number of entries in the search for duplicates", needed as u64, u64::from(NONE))?;
        if needed > self.entries.capacity() {
            let capacity = needed.max(2 * self.entries.capacity());
            // The old list is freed after the copy.
            self.memory.check(SEARCH, (size_of::<ListEntry>() * capacity) as u64)?;
            self.entries.reserve_exact(capacity - self.entries.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::threads::on_threads;
    use crate::vectors::SparseRows;

    /// The definition, by comparing all rows.
    fn plain(rows: &UnitRows<'_>, similarity: f64) -> Vec<u32> {
        let mut representatives: Vec<u32> = (0..rows.n_rows() as u32).collect();
        for row in 0..rows.n_rows() {
            let is_copy = |&other: &usize| {
                let (a, b) = (rows.row(row), rows.row(other));
                let is_near = || similarity < 1.0 && a.dot(b) >= similarity;
                let is_representative = representatives[other] == other as u32;
                is_representative && a.nnz() > 0 && (a == b || is_near())
            };
            if let Some(first) = (0..row).find(is_copy) {
                representatives[row] = first as u32;
            }
        }
        representatives
    }

    fn rows_of(rows: &[Vec<(u32, f32)>]) -> UnitRows<'static> {
        let mut offsets = vec![0];
        let (mut terms, mut values) = (Vec::new(), Vec::new());
        for row in rows {
            for &(term, value) in row {
                terms.push(term);
                values.push(value);
            }
            offsets.push(terms.len() as u64);
        }
        UnitRows::new(SparseRows::from_parts(20, offsets, terms, values).unwrap())
    }

    proptest! {
        #[test]
        fn the_search_finds_what_comparing_all_rows_finds(
            rows in prop::collection::vec(
                prop::collection::btree_map(0u32..20, prop::sample::select(vec![-1.0f32, 0.5, 1.0, 2.0, 4.0]), 0..9),
                0..60,
            ),
            similarity in prop::sample::select(vec![0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]),
        ) {
            let rows: Vec<Vec<(u32, f32)>> = rows.into_iter().map(|row| row.into_iter().collect()).collect();
            let rows = rows_of(&rows);
            let found = Duplicates::find(&rows, similarity).unwrap();
            let expected = plain(&rows, similarity);
            prop_assert_eq!(found.representatives(), &expected[..]);
            let n_copies = (0..).zip(&expected).filter(|(row, first)| row != *first).count();
            prop_assert_eq!((found.n_copies(), found.kept().len()), (n_copies, rows.n_rows() - n_copies));
            let same = |(row, first): &(u32, &u32)| row != *first && is_same(&rows, *row, **first);
            prop_assert_eq!(found.n_equal(), (0..).zip(&expected).filter(same).count());
            prop_assert_eq!(found.weights().iter().sum::<f64>(), rows.n_rows() as f64);
            let kept = found.remove_copies(&rows, &NO_LIMIT).unwrap();
            for (at, &row) in found.kept().iter().enumerate() {
                prop_assert_eq!(kept.row(at), rows.row(row as usize));
            }
        }
    }

    #[test]
    fn blocks_and_threads_change_nothing() {
        // Three blocks of variants of 300 rows, in an order that mixes them; then other 300 rows.
        let row = |number: u32| {
            let family = number.wrapping_mul(7919) % 300;
            let sign = |at: u32| if at == 0 && number >= 5_000 { -1.0 } else { 1.0 };
            let entry = |at: u32| {
                ((family.wrapping_mul(31 + at) + at * at) % 20, sign(at) * (1.0 + (family % 7) as f32))
            };
            let mut row: Vec<(u32, f32)> = (0..6).map(entry).collect();
            row.push((number % 20, 0.1 + 0.01 * (number % 3) as f32));
            row
        };
        let rows = rows_of(&(0..10_000).map(row).collect::<Vec<_>>());
        let find = |threads| on_threads(Some(threads), || Duplicates::find(&rows, 0.97).unwrap()).unwrap();
        let found = find(1);
        assert_eq!(found.representatives(), plain(&rows, 0.97));
        assert!(found.n_copies() > 5_000 && found.n_equal() > 100 && found.n_equal() < found.n_copies());
        assert!(found.representatives().iter().any(|&first| first > 4096), "one in a later block");
        assert_eq!((find(2), find(7)), (found.clone(), found));
    }

    #[test]
    fn an_equal_row_of_a_copy_has_its_representative() {
        let near = vec![(0, 1.0), (1, 0.3)];
        let rows = rows_of(&[vec![(0, 1.0)], near.clone(), vec![(2, 1.0)], near, vec![]]);
        let found = Duplicates::find(&rows, 0.9).unwrap();
        assert_eq!(found.representatives(), [0, 0, 2, 0, 4]);
        assert_eq!((found.n_copies(), found.n_equal()), (2, 0));
        assert_eq!(Duplicates::find(&rows, 1.0).unwrap().representatives(), [0, 1, 2, 1, 4]);
    }

    #[test]
    fn limits_are_checked() {
        let rows = rows_of(&[vec![(0, 1.0)], vec![(0, 1.0), (1, 1.0)]]);
        for similarity in [0.49, 1.01, f64::NAN] {
            let error = Duplicates::find(&rows, similarity).unwrap_err().to_string();
            assert!(error.starts_with("duplicate_similarity must be from 0.5 to 1, got "), "{error}");
        }
        let error = Duplicates::find_within(&rows, 0.9, &MemoryLimit::new(1_000, || 900)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Memory { what: SEARCH, .. }), "{error}");
        let found = Duplicates::find(&rows, 0.9).unwrap();
        assert!(found.remove_copies(&rows, &MemoryLimit::new(1_000, || 990)).is_err());
    }
}
