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
//! *Near-duplicates* are found by lists of the rows by their rarest terms: `similar_rows.rs`.
//!
//! **Cost.** A sort of the hashes, and for texts a few candidates for each row. The search is exact
//! whatever the data. In the worst case it compares all rows with each other.
//!
//! **Memory.** 28 bytes per row, 12 per term, an eighth of a byte per entry of the matrix, and 16
//! for each entry of a head (at a threshold of 0.9 the rarest terms with a fifth of the squared
//! length). Each thread has a table of 64 KiB, and a block at most 24 MiB.

use rayon::prelude::*;

use super::rows::Row;
use super::similar_rows::{ENTRIES_PER_BYTE, SEARCH, Search};
use super::unit::UnitRows;
use crate::error::{Error, Result};
use crate::memory::{MemoryLimit, NO_LIMIT};

/// Two rows with this similarity or more are near-duplicates, by default.
pub const NEAR_DUPLICATE: f64 = 0.9;

/// Bytes per row: twice its hash and number while they are sorted (24), its representative (4).
const ROW_BYTES: usize = 28;

/// Bytes per term: the number of its rows, the ends of its list.
const TERM_BYTES: usize = 12;

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
        let divided = rows.nnz() / ENTRIES_PER_BYTE;
        memory.check(SEARCH, (ROW_BYTES * rows.n_rows() + TERM_BYTES * rows.n_terms() + divided) as u64)?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        let n_terms = terms.iter().max().map_or(1, |&term| term as usize + 1);
        UnitRows::new(SparseRows::from_parts(n_terms, offsets, terms, values).unwrap())
    }

    proptest! {
        #[test]
        fn the_search_finds_what_comparing_all_rows_finds(
            rows in prop::collection::vec(
                prop::collection::btree_map(0u32..20, prop::sample::select(vec![-1.0f32, 0.5, 1.0, 2.0, 4.0]), 0..9),
                0..60,
            ),
            similarity in prop::sample::select(vec![0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]),
            // With large numbers, terms share slots of the table.
            spread in prop::sample::select(vec![1, 8192]),
        ) {
            let row = |row: BTreeMap<u32, f32>| row.into_iter().map(|(term, value)| (term * spread, value)).collect();
            let rows: Vec<Vec<(u32, f32)>> = rows.into_iter().map(row).collect();
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// Long lists: few terms, or some that most rows have beside a rare one.
        #[test]
        fn long_lists_are_walked_to_the_end(
            seed in 0u32..1_000_000,
            n_rows in 1_100u32..1_800,
            n_terms in 4u32..18,
            has_rare in any::<bool>(),
            similarity in prop::sample::select(vec![0.6, 0.8, 0.9, 0.97]),
        ) {
            let random = |row: u32, at: u32| {
                let mut z = (u64::from(seed) << 40 | u64::from(row) << 8 | u64::from(at)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                z = (z ^ (z >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                (z >> 40) as u32
            };
            let row = |row: u32| {
                let mut terms = BTreeMap::new();
                for at in 0..12 {
                    *terms.entry(random(row, at) % n_terms).or_insert(0.0) += 1.0;
                }
                if has_rare {
                    terms.insert(n_terms + row / 2, 1.0 + (random(row, 12) % 3) as f32);
                }
                terms.into_iter().collect()
            };
            let rows = rows_of(&(0..n_rows).map(row).collect::<Vec<_>>());
            let found = Duplicates::find(&rows, similarity).unwrap();
            prop_assert_eq!(found.representatives(), &plain(&rows, similarity)[..]);
        }
    }

    #[test]
    fn the_first_of_very_many_candidates_is_found() {
        // A term of all rows, and a rare one with 0.18 of the squared length: no copies.
        let template = |row: u32| vec![(0, 0.82f32.sqrt()), (1 + row, 0.18f32.sqrt())];
        let mut rows = vec![vec![(0, 1.0), (1, 0.3)]];
        rows.extend((1..70_000).map(template));
        rows.push(vec![(0, 1.0), (70_001, 0.15)]);
        let found = Duplicates::find(&rows_of(&rows), 0.9).unwrap();
        assert_eq!((found.n_copies(), found.representatives()[70_000]), (1, 0));
    }

    #[test]
    fn copies_of_copies_within_a_block_are_no_copies() {
        // Each is similar to the two before and the two behind.
        let row = |at: u32| {
            let angle = f64::from(at) * 0.2;
            vec![(0, angle.cos() as f32), (1, angle.sin() as f32)]
        };
        let rows = rows_of(&(0..12).map(row).collect::<Vec<_>>());
        let found = Duplicates::find(&rows, 0.9).unwrap();
        assert_eq!(found.representatives(), [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9]);
        assert_eq!(found.representatives(), plain(&rows, 0.9));
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
        let error = Duplicates::find_within(&rows, 0.9, &MemoryLimit::new(1_000, || 950)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Memory { what: SEARCH, .. }), "{error}");
        let found = Duplicates::find(&rows, 0.9).unwrap();
        assert!(found.remove_copies(&rows, &MemoryLimit::new(1_000, || 990)).is_err());
    }
}
