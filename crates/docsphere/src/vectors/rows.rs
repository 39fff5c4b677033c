//! Checked sparse rows: the form in which every matrix enters the library.
//!
//! Compressed sparse rows (CSR) with 64-bit offsets, 32-bit term ids and 32-bit floats: 8 bytes per
//! nonzero and 8 per row. The parts may be borrowed, so that a matrix with another owner (NumPy, a
//! memory map) need not be copied.

use std::borrow::Cow;

use super::array::Array;
use crate::error::{Error, ErrorKind, Result, RowProblem};
use crate::mapping::Mapped;
use crate::memory::{MemoryLimit, NO_LIMIT};

/// The maximum number of rows of a matrix: sums over this many rows cannot overflow.
pub const MAX_ROWS: u64 = 1 << 30;

/// The maximum number of terms (columns) of a matrix: term directories stay below 2 GiB.
pub const MAX_TERMS: u64 = 1 << 28;

/// Checked sparse rows: in every row the term ids are strictly ascending and in range, and the
/// values are finite and not zero.
///
/// ```
/// use docsphere::SparseRows;
///
/// // Two rows over four terms. The first is unsorted and has term 3 twice.
/// let rows = SparseRows::from_parts(4, vec![0, 3, 4], vec![3, 0, 3], vec![1.0, 2.0, 1.0]);
/// assert!(rows.is_err(), "offsets promise four nonzeros");
///
/// let (terms, values) = (vec![3, 0, 3, 1], vec![1.0, 2.0, 1.0, 5.0]);
/// let rows = SparseRows::from_parts(4, vec![0, 3, 4], terms, values)?;
/// assert_eq!(rows.row(0).terms, [0, 3]);
/// assert_eq!(rows.row(0).values, [2.0, 2.0]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparseRows<'a> {
    n_terms: usize,
    /// The first offset: 0, except in parts.
    first: u64,
    offsets: Array<'a, u64>,
    terms: Array<'a, u32>,
    values: Array<'a, f32>,
}

impl PartialEq for SparseRows<'_> {
    fn eq(&self, other: &Self) -> bool {
        let ends = |rows: &Self| rows.offsets.iter().map(|offset| offset - rows.first).collect::<Vec<_>>();
        self.n_terms == other.n_terms
            && self.terms == other.terms
            && self.values == other.values
            && ends(self) == ends(other)
    }
}

/// One row: its terms, ascending, and their values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// Term ids, strictly ascending.
    pub terms: &'a [u32],
    /// The value of each term.
    pub values: &'a [f32],
}

impl<'a> Row<'a> {
    /// Pairs of term and value, in ascending order of term.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (u32, f32)> + Clone + 'a {
        self.terms.iter().copied().zip(self.values.iter().copied())
    }

    /// The number of nonzeros.
    pub fn nnz(self) -> usize {
        self.terms.len()
    }

    /// The dot product with another row, summed in f64 in ascending order of term.
    ///
    /// Searches `other` for each term of this row: fast if this row is the shorter one.
    pub fn dot(self, other: Row<'_>) -> f64 {
        let mut sum = 0.0;
        let mut from = 0;
        for (term, x) in self.iter() {
            from += other.terms[from..].partition_point(|&t| t < term);
            match other.terms.get(from) {
                Some(&found) if found == term => sum += f64::from(x) * f64::from(other.values[from]),
                Some(_) => {}
                None => break,
            }
        }
        sum
    }

    /// The Euclidean length, summed in f64 in ascending order of term.
    pub fn length(self) -> f64 {
        self.values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt()
    }
}

impl<'a> SparseRows<'a> {
    /// The same rows, copied if they are borrowed.
    pub fn into_owned(self) -> SparseRows<'static> {
        SparseRows {
            n_terms: self.n_terms,
            first: self.first,
            offsets: self.offsets.into_owned(),
            terms: self.terms.into_owned(),
            values: self.values.into_owned(),
        }
    }

    /// Builds rows from CSR parts, checking everything.
    ///
    /// Row `i` has the nonzeros `offsets[i]..offsets[i + 1]`. Unsorted rows are sorted, repeated
    /// terms of a row are summed, explicit zeros are dropped; parts that need none of this are kept
    /// as they are, without a copy.
    ///
    /// # Errors
    /// Offsets that do not start at 0, decrease, or do not end at the number of nonzeros; parts of
    /// different lengths; a term id not below `n_terms`; a value that is not finite; more than
    /// [`MAX_ROWS`] rows or [`MAX_TERMS`] terms.
    pub fn from_parts(
        n_terms: usize,
        offsets: impl Into<Cow<'a, [u64]>>,
        terms: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
    ) -> Result<Self> {
        Self::from_parts_within(n_terms, offsets, terms, values, &NO_LIMIT)
    }

    /// Rows of which nothing is checked yet.
    fn of_arrays<'b>(
        n_terms: usize,
        offsets: impl Into<Array<'b, u64>>,
        terms: impl Into<Array<'b, u32>>,
        values: impl Into<Array<'b, f32>>,
    ) -> SparseRows<'b> {
        let (offsets, terms, values) = (offsets.into(), terms.into(), values.into());
        SparseRows { n_terms, first: 0, offsets, terms, values }
    }

    /// Like [`from_parts`](Self::from_parts), but checks the memory limit before it copies.
    pub(crate) fn from_parts_within(
        n_terms: usize,
        offsets: impl Into<Cow<'a, [u64]>>,
        terms: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
        memory: &MemoryLimit,
    ) -> Result<Self> {
        let rows = Self::of_arrays(n_terms, offsets.into(), terms.into(), values.into());
        Self::check_shape(rows.offsets.len().saturating_sub(1), n_terms)?;
        rows.check_offsets()?;
        if rows.check_rows()? == Order::Canonical { Ok(rows) } else { rows.canonicalised(memory) }
    }

    /// Rows constructed so that every check of [`from_parts`](Self::from_parts) holds. Only their
    /// number is checked.
    #[cfg(feature = "text")]
    pub(super) fn trusted(
        n_terms: usize,
        offsets: Vec<u64>,
        terms: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Self> {
        let rows = Self::of_arrays(n_terms, offsets, terms, values);
        Self::check_shape(rows.offsets.len().saturating_sub(1), n_terms)?;
        debug_assert!(rows.check_offsets().is_ok(), "{:?}", rows.check_offsets());
        debug_assert!(rows.check_rows().is_ok_and(|order| order == Order::Canonical));
        Ok(rows)
    }

    /// Rows in a mapped file, for which every check of [`from_parts`](Self::from_parts) holds or
    /// will be made.
    pub(super) fn mapped(
        n_terms: usize,
        offsets: Mapped<u64>,
        terms: Mapped<u32>,
        values: Mapped<f32>,
    ) -> SparseRows<'static> {
        let (offsets, terms, values) = (Array::Mapped(offsets), Array::Mapped(terms), Array::Mapped(values));
        Self::of_arrays(n_terms, offsets, terms, values)
    }

    /// Tells the system that these rows will be read soon, if they are in a file.
    pub(crate) fn will_need(&self, rows: std::ops::Range<usize>) {
        if let (Array::Mapped(offsets), Array::Mapped(terms), Array::Mapped(values)) =
            (&self.offsets, &self.terms, &self.values)
        {
            let nonzeros = self.offsets[rows.start] as usize..self.offsets[rows.end] as usize;
            offsets.will_need(rows.start..rows.end + 1);
            terms.will_need(nonzeros.clone());
            values.will_need(nonzeros);
        }
    }

    /// The same rows in memory.
    #[cfg(feature = "compression")]
    pub(super) fn into_memory(self) -> SparseRows<'static> {
        let SparseRows { n_terms, first, offsets, terms, values } = self;
        let (offsets, terms, values) = (offsets.into_memory(), terms.into_memory(), values.into_memory());
        SparseRows { n_terms, first, offsets, terms, values }
    }

    /// Whether the rows are in a mapped file.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.terms, Array::Mapped(_))
    }

    /// Rejects more rows or terms than allowed.
    pub(crate) fn check_shape(n_rows: usize, n_terms: usize) -> Result<()> {
        check_n_terms(n_terms as u64)?;
        check_size("the number of rows", n_rows as u64, MAX_ROWS)
    }

    /// One row per map of terms to values: for tests.
    #[cfg(test)]
    pub(crate) fn from_maps<V: Copy + Into<f32>>(
        n_terms: usize,
        rows: &[std::collections::BTreeMap<u32, V>],
    ) -> SparseRows<'static> {
        let (mut offsets, mut terms, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for row in rows {
            terms.extend(row.keys());
            values.extend(row.values().map(|&value| value.into()));
            offsets.push(terms.len() as u64);
        }
        SparseRows::from_parts(n_terms, offsets, terms, values).unwrap()
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of terms (columns).
    pub fn n_terms(&self) -> usize {
        self.n_terms
    }

    /// The number of nonzeros of all rows.
    pub fn nnz(&self) -> usize {
        self.terms.len()
    }

    /// Row `index`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, index: usize) -> Row<'_> {
        let range =
            (self.offsets[index] - self.first) as usize..(self.offsets[index + 1] - self.first) as usize;
        Row { terms: &self.terms[range.clone()], values: &self.values[range] }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.n_rows()).map(|i| self.row(i))
    }

    /// Start of each row, followed by the number of nonzeros: `n_rows + 1` numbers. In parts they
    /// go on from those of the rows before.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The term ids of all rows, concatenated.
    pub fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// The values of all rows, concatenated.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Bytes of the three parts in memory: `8 * nnz + 8 * (n_rows + 1)`, or none if they are in a
    /// mapped file.
    pub fn memory_bytes(&self) -> usize {
        self.offsets.memory_bytes() + self.terms.memory_bytes() + self.values.memory_bytes()
    }

    /// Consecutive rows, without a copy.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> SparseRows<'_> {
        let offsets = &self.offsets[range.start..=range.end];
        let (first, end) = (offsets[0], offsets[offsets.len() - 1]);
        let nonzeros = (first - self.first) as usize..(end - self.first) as usize;
        SparseRows {
            n_terms: self.n_terms,
            first,
            offsets: Array::Borrowed(offsets),
            terms: Array::Borrowed(&self.terms[nonzeros.clone()]),
            values: Array::Borrowed(&self.values[nonzeros]),
        }
    }

    /// The same rows with other finite values, one per nonzero. Values that are zero are dropped.
    pub(crate) fn with_values(self, values: Vec<f32>, memory: &MemoryLimit) -> Result<Self> {
        debug_assert_eq!(values.len(), self.terms.len());
        let has_zero = values.contains(&0.0);
        let rows = SparseRows { values: Array::Owned(values), ..self };
        if has_zero { rows.canonicalised(memory) } else { Ok(rows) }
    }

    fn check_offsets(&self) -> Result<()> {
        let offsets = &self.offsets;
        let nnz = self.terms.len() as u64;
        if self.values.len() as u64 != nnz {
            return Err(Error::structure(
                "the number of values",
                format!("{nnz}, one for each term id"),
                self.values.len(),
            ));
        }
        match (offsets.first(), offsets.last()) {
            (None, _) | (_, None) => {
                return Err(Error::structure("the number of offsets", "at least 1", 0));
            }
            (Some(&first), _) if first != 0 => return Err(Error::structure("the first offset", 0, first)),
            (_, Some(&last)) if last != nnz => {
                return Err(Error::structure(
                    "the last offset",
                    format!("{nnz}, the number of nonzeros"),
                    last,
                ));
            }
            _ => {}
        }
        match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            None => Ok(()),
            Some(row) => Err(Error::structure(
                "each offset",
                "at least the one before it",
                format!("{} after {} at row {row}", offsets[row + 1], offsets[row]),
            )),
        }
    }

    fn check_rows(&self) -> Result<Order> {
        let mut order = Order::Canonical;
        for (index, row) in self.iter().enumerate() {
            let mut above = 0u64;
            for (term, value) in row.iter() {
                let problem = if term as usize >= self.n_terms {
                    RowProblem::TermOutOfRange { term: u64::from(term), n_terms: self.n_terms as u64 }
                } else if !value.is_finite() {
                    RowProblem::NotFinite { term, value }
                } else {
                    if u64::from(term) < above || value == 0.0 {
                        order = Order::NeedsWork;
                    }
                    above = u64::from(term) + 1;
                    continue;
                };
                return Err(ErrorKind::Row { row: index as u64, problem }.into());
            }
        }
        Ok(order)
    }

    /// Sorts each row, sums repeated terms, drops zeros.
    fn canonicalised(self, memory: &MemoryLimit) -> Result<SparseRows<'a>> {
        // A copy of all parts, and the longest row twice while it is sorted.
        let longest = self.offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        memory.check("the matrix", self.memory_bytes() as u64 + 16 * longest)?;
        let mut offsets = Vec::with_capacity(self.offsets.len());
        let mut terms = Vec::with_capacity(self.terms.len());
        let mut values = Vec::with_capacity(self.terms.len());
        let mut pairs: Vec<(u32, f32)> = Vec::new();
        offsets.push(0);
        for (index, row) in self.iter().enumerate() {
            pairs.clear();
            pairs.extend(row.iter());
            // Stable, so that repeated terms are summed in the given order.
            pairs.sort_by_key(|&(term, _)| term);
            for group in pairs.chunk_by(|a, b| a.0 == b.0) {
                let term = group[0].0;
                let sum: f64 = group.iter().map(|&(_, value)| f64::from(value)).sum();
                let value = sum as f32;
                if !value.is_finite() {
                    let problem = RowProblem::TooLarge { term, value: sum };
                    return Err(ErrorKind::Row { row: index as u64, problem }.into());
                }
                if value != 0.0 {
                    terms.push(term);
                    values.push(value);
                }
            }
            offsets.push(terms.len() as u64);
        }
        Ok(SparseRows {
            n_terms: self.n_terms,
            first: 0,
            offsets: offsets.into(),
            terms: terms.into(),
            values: values.into(),
        })
    }
}

#[derive(PartialEq)]
enum Order {
    Canonical,
    NeedsWork,
}

/// Rejects more than [`MAX_TERMS`] terms.
pub(super) fn check_n_terms(n_terms: u64) -> Result<()> {
    check_size("the number of terms", n_terms, MAX_TERMS)
}

pub(super) fn check_size(what: &'static str, got: u64, limit: u64) -> Result<()> {
    if got > limit { Err(ErrorKind::TooLarge { what, limit, got }.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(n_terms: usize, offsets: &[u64], terms: &[u32], values: &[f32]) -> String {
        SparseRows::from_parts(n_terms, offsets, terms, values).unwrap_err().to_string()
    }

    #[test]
    fn canonical_parts_are_borrowed_not_copied() {
        let (offsets, terms, values) = (vec![0, 2, 2, 3], vec![1, 5, 0], vec![1.0, 2.0, 3.0]);
        let rows = SparseRows::from_parts(6, &offsets[..], &terms[..], &values[..]).unwrap();
        assert!(std::ptr::eq(rows.values().as_ptr(), values.as_ptr()));
        assert_eq!(rows.n_rows(), 3);
        assert_eq!(rows.row(1).nnz(), 0);
        assert_eq!(rows.memory_bytes(), 3 * 8 + 4 * 8);
    }

    #[test]
    fn rows_are_sorted_repeated_terms_added_and_zeros_dropped() {
        let rows =
            SparseRows::from_parts(9, vec![0, 4, 6], vec![7, 2, 7, 3, 4, 4], vec![1., 2., 3., 0., 5., -5.]);
        let rows = rows.unwrap();
        assert_eq!(rows.offsets(), [0, 2, 2]);
        assert_eq!(rows.terms(), [2, 7]);
        assert_eq!(rows.values(), [2., 4.]);
    }

    #[test]
    fn parts_that_contradict_each_other_are_refused_with_the_reason() {
        assert_eq!(
            message(4, &[0, 2], &[1], &[1.0]),
            "not a valid sparse matrix: the last offset should be 1, the number of nonzeros, got 2"
        );
        assert_eq!(
            message(4, &[0, 1], &[1], &[]),
            "not a valid sparse matrix: the number of values should be 1, one for each term id, got 0"
        );
        assert_eq!(
            message(4, &[0, 2, 1, 3], &[0, 1, 2], &[1.; 3]),
            "not a valid sparse matrix: each offset should be at least the one before it, got 1 after 2 at row 1"
        );
        assert!(message(4, &[], &[], &[]).contains("at least 1"));
        assert!(message(4, &[1, 1], &[0], &[1.0]).contains("the first offset should be 0, got 1"));
    }

    #[test]
    fn bad_entries_are_refused_with_their_row() {
        assert_eq!(
            message(4, &[0, 1, 2], &[0, 4], &[1.; 2]),
            "row 1: term id 4 is out of range: ids run from 0 to 3"
        );
        assert_eq!(
            message(4, &[0, 1], &[2], &[f32::NAN]),
            "row 0: the value of term 2 is NaN; values must be finite"
        );
        assert!(message(4, &[0, 1], &[2], &[f32::INFINITY]).contains("inf"));
        assert!(message(4, &[0, 2], &[2, 2], &[f32::MAX; 2]).contains("too large for a 32-bit float"));
        assert!(message(1 << 29, &[0], &[], &[]).contains("the number of terms is limited to 268435456"));
    }
}
