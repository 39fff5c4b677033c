//! Rows of length one.

use rayon::prelude::*;

use super::rows::{Row, SparseRows};
use crate::error::{ErrorKind, Result};
use crate::ids::DocId;
use crate::memory::{MemoryLimit, NO_LIMIT};

/// A row whose length differs from one by at most this is considered to have length one and is left
/// unchanged.
///
/// Rounding a normalised row to f32 changes its length by at most 6e-8, and rows that other
/// programs normalised in f32 deviate by a few 1e-7. So normalising is idempotent, and a matrix
/// that is already normalised is not copied.
pub const UNIT_TOLERANCE: f64 = 5e-7;

/// Two unit vectors are considered to coincide if their similarity is less than this below one.
///
/// A unit row that is left unchanged may have a squared length of `1 - 1e-6`, so this is twice what
/// rounding alone can explain.
pub(crate) const COINCIDENT: f64 = 2e-6;

/// Rows of a block of a mapped file.
const BLOCK_ROWS: usize = if cfg!(test) { 1 << 6 } else { 1 << 20 };

/// Sparse rows of length one, and separately the *zero rows*: documents without any term, which
/// have no direction and cannot be clustered.
///
/// ```
/// use docsphere::{DocId, SparseRows, UnitRows};
///
/// let rows = SparseRows::from_parts(3, vec![0, 2, 2], vec![0, 2], vec![3.0, 4.0])?;
/// let rows = UnitRows::new(rows);
/// assert_eq!(rows.row(0).values, [0.6, 0.8]);
/// assert_eq!(rows.zero_rows(), [DocId::new(1)]);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UnitRows<'a> {
    rows: SparseRows<'a>,
    zero_rows: Vec<DocId>,
    non_negative: bool,
    max_row_nnz: usize,
}

impl<'a> UnitRows<'a> {
    /// Normalises every row to length one. Copies the values only if some row needs it.
    pub fn new(rows: SparseRows<'a>) -> Self {
        Self::new_within(rows, &NO_LIMIT)
            .expect("no limit, and no terms are repeated that add up to infinity")
    }

    /// Like [`new`](Self::new), but checks the memory limit before it copies.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if the limit leaves no room for a copy of
    /// the values, or of the whole matrix if some values become zero.
    pub fn new_within(rows: SparseRows<'a>, memory: &MemoryLimit) -> Result<Self> {
        let mut zero_rows = Vec::new();
        let mut scaled: Option<Vec<f32>> = None;
        let mut max_row_nnz = 0;
        for (index, row) in rows.iter().enumerate() {
            max_row_nnz = max_row_nnz.max(row.nnz());
            if row.nnz() == 0 {
                zero_rows.push(DocId::new(index as u32)); // fits: at most MAX_ROWS rows
                continue;
            }
            let length = row.length();
            if (length - 1.0).abs() <= UNIT_TOLERANCE {
                continue;
            }
            let start = rows.offsets()[index] as usize;
            if scaled.is_none() {
                memory.check("the matrix", size_of_val(rows.values()) as u64)?;
            }
            let values = scaled.get_or_insert_with(|| rows.values().to_vec());
            for value in &mut values[start..start + row.nnz()] {
                *value = (f64::from(*value) / length) as f32;
            }
        }
        let rows = match scaled {
            Some(values) => {
                let rows = rows.with_values(values, memory)?;
                // Values that have become zero are gone.
                max_row_nnz = rows.iter().map(|row| row.nnz()).max().unwrap_or(0);
                rows
            }
            None => rows,
        };
        let non_negative = rows.values().iter().all(|&value| value >= 0.0);
        Ok(UnitRows { rows, zero_rows, non_negative, max_row_nnz })
    }

    /// Rows constructed with length one and values above zero, such as those of texts.
    #[cfg(feature = "text")]
    pub(super) fn trusted(rows: SparseRows<'a>) -> Self {
        debug_assert!(rows.values().iter().all(|&value| value > 0.0));
        debug_assert!(
            rows.iter().all(|row| row.nnz() == 0 || (row.length() - 1.0).abs() <= UNIT_TOLERANCE),
            "rows of length one"
        );
        let (mut zero_rows, mut max_row_nnz) = (Vec::new(), 0);
        for (index, pair) in rows.offsets().windows(2).enumerate() {
            let nnz = (pair[1] - pair[0]) as usize;
            max_row_nnz = max_row_nnz.max(nnz);
            if nnz == 0 {
                zero_rows.push(DocId::new(index as u32)); // fits: at most MAX_ROWS rows
            }
        }
        UnitRows { rows, zero_rows, non_negative: true, max_row_nnz }
    }

    /// Rows in a mapped file, of which this is known.
    pub(super) fn mapped(
        rows: SparseRows<'a>,
        zero_rows: Vec<DocId>,
        non_negative: bool,
        max_row_nnz: usize,
    ) -> Self {
        UnitRows { rows, zero_rows, non_negative, max_row_nnz }
    }

    /// Whether the rows are in a mapped file; see [`UnitRows::open_mapped`].
    pub fn is_mapped(&self) -> bool {
        self.rows.is_mapped()
    }

    /// Consecutive rows to be used together, whatever their order, before the next ones are: all,
    /// or as many of a mapped file as little memory holds.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let n_rows = self.n_rows();
        let block_rows = if self.is_mapped() { BLOCK_ROWS } else { n_rows.max(1) };
        (0..n_rows).step_by(block_rows).map(move |start| start..n_rows.min(start + block_rows))
    }

    /// Tells the system that these rows will be read soon, if they are in a file.
    pub(crate) fn will_need(&self, rows: std::ops::Range<usize>) {
        self.rows.will_need(rows);
    }

    /// The rows as a matrix.
    pub fn into_sparse(self) -> SparseRows<'a> {
        self.rows
    }

    /// The same rows, copied if they are borrowed.
    pub fn into_owned(self) -> UnitRows<'static> {
        let UnitRows { rows, zero_rows, non_negative, max_row_nnz } = self;
        UnitRows { rows: rows.into_owned(), zero_rows, non_negative, max_row_nnz }
    }

    /// The same rows in memory: a copy, if they are in a mapped file.
    #[cfg(feature = "compression")]
    pub(super) fn into_memory(self) -> UnitRows<'static> {
        let UnitRows { rows, zero_rows, non_negative, max_row_nnz } = self;
        UnitRows { rows: rows.into_memory(), zero_rows, non_negative, max_row_nnz }
    }

    /// Consecutive rows, without a copy of terms and values, and without a look at them: signs and
    /// the length of the longest row are those of all, which hold for the part as well.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> UnitRows<'_> {
        let first = self.zero_rows.partition_point(|doc| doc.index() < range.start);
        let end = self.zero_rows.partition_point(|doc| doc.index() < range.end);
        let within = |doc: &DocId| DocId::new((doc.index() - range.start) as u32);
        UnitRows {
            rows: self.rows.part(range.clone()),
            zero_rows: self.zero_rows[first..end].iter().map(within).collect(),
            non_negative: self.non_negative,
            max_row_nnz: self.max_row_nnz,
        }
    }

    /// A copy of some rows, in this order.
    pub(crate) fn select(&self, docs: &[u32]) -> Result<UnitRows<'static>> {
        let nnz = docs.iter().map(|&doc| self.row(doc as usize).nnz()).sum();
        let mut offsets = Vec::with_capacity(docs.len() + 1);
        let (mut terms, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
        offsets.push(0u64);
        for &doc in docs {
            let row = self.row(doc as usize);
            terms.extend_from_slice(row.terms);
            values.extend_from_slice(row.values);
            offsets.push(terms.len() as u64);
        }
        // Rows of length one stay as they are.
        Ok(UnitRows::new(SparseRows::from_parts(self.n_terms(), offsets, terms, values)?))
    }

    /// A copy of the rows whose number `keeps` accepts, in order.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if the limit leaves no room for the copy.
    pub fn filtered(&self, keeps: impl Fn(usize) -> bool, memory: &MemoryLimit) -> Result<UnitRows<'static>> {
        let kept: Vec<u32> = (0..self.n_rows()).filter(|&number| keeps(number)).map(|n| n as u32).collect();
        let nnz: usize = kept.iter().map(|&number| self.row(number as usize).nnz()).sum();
        memory.check("the matrix", 8 * (kept.len() + nnz) as u64)?;
        self.select(&kept)
    }

    /// These rows, and others over the same terms after them.
    ///
    /// ```
    /// use docsphere::{MemoryLimit, SparseRows, UnitRows};
    ///
    /// let rows = |n: usize| {
    ///     let offsets: Vec<u64> = (0..=n as u64).collect();
    ///     let terms = vec![0, 1][..n].to_vec();
    ///     UnitRows::new(SparseRows::from_parts(2, offsets, terms, vec![1.0; n]).unwrap())
    /// };
    /// let both = rows(2).joined(&rows(1), &MemoryLimit::default())?;
    /// assert_eq!((both.n_rows(), both.row(1).terms, both.row(2).terms), (3, &[1][..], &[0][..]));
    /// # Ok::<(), docsphere::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] for another number of terms;
    /// [`ErrorKind::TooLarge`] for more than
    /// [`MAX_ROWS`](crate::MAX_ROWS) rows; [`ErrorKind::Memory`].
    pub fn joined(self, others: &UnitRows<'_>, memory: &MemoryLimit) -> Result<UnitRows<'static>> {
        let n_terms = self.n_terms();
        if others.n_terms() != n_terms {
            let (expected, got) = (format!("{n_terms}, as in the rows before"), others.n_terms().to_string());
            return Err(ErrorKind::Mismatch { what: "the number of terms", expected, got }.into());
        }
        let both = (self.n_rows() + others.n_rows(), self.nnz() + others.nnz());
        memory.check("the matrix", 8 * (both.0 + both.1) as u64)?;
        let (mut offsets, mut terms, mut values) =
            (Vec::with_capacity(both.0 + 1), Vec::with_capacity(both.1), Vec::with_capacity(both.1));
        let (first, second) = (self.as_sparse(), others.as_sparse());
        offsets.extend_from_slice(first.offsets());
        offsets.extend(second.offsets()[1..].iter().map(|offset| first.nnz() as u64 + offset));
        for rows in [first, second] {
            terms.extend_from_slice(rows.terms());
            values.extend_from_slice(rows.values());
        }
        drop(self);
        // Rows of length one stay as they are.
        UnitRows::new_within(SparseRows::from_parts_within(n_terms, offsets, terms, values, memory)?, memory)
    }

    /// The number of rows, zero rows included.
    pub fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }

    /// The number of terms.
    pub fn n_terms(&self) -> usize {
        self.rows.n_terms()
    }

    /// The number of nonzeros.
    pub fn nnz(&self) -> usize {
        self.rows.nnz()
    }

    /// The number of rows that contain each term.
    pub(crate) fn doc_frequencies(&self) -> Vec<u32> {
        let (n_terms, terms) = (self.n_terms(), self.rows.terms());
        // Each part has far more terms than the table that it counts in.
        let n_parts = (terms.len() / (8 * n_terms).max(1 << 16)).clamp(1, rayon::current_num_threads());
        let counted = |part: &[u32]| {
            let mut frequencies = vec![0; n_terms];
            part.iter().for_each(|&term| frequencies[term as usize] += 1); // fits: at most MAX_ROWS rows
            frequencies
        };
        let parts = terms.par_chunks(terms.len().div_ceil(n_parts).max(1)).map(counted);
        let sum = |mut sums: Vec<u32>, counts: Vec<u32>| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sums
        };
        parts.reduce_with(sum).unwrap_or_else(|| vec![0; n_terms])
    }

    /// Row `index`; empty for a zero row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, index: usize) -> Row<'_> {
        self.rows.row(index)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter()
    }

    /// The documents without any term, ascending.
    pub fn zero_rows(&self) -> &[DocId] {
        &self.zero_rows
    }

    /// The number of rows that can be clustered: those that are not zero rows.
    pub fn n_nonzero_rows(&self) -> usize {
        self.n_rows() - self.zero_rows.len()
    }

    /// Whether no value is negative, as in all text vectors. Some filters require this.
    pub fn is_non_negative(&self) -> bool {
        self.non_negative
    }

    /// The number of nonzeros of the longest row.
    pub fn max_row_nnz(&self) -> usize {
        self.max_row_nnz
    }

    /// The rows as a plain sparse matrix.
    pub fn as_sparse(&self) -> &SparseRows<'a> {
        &self.rows
    }
}

impl<'a> From<SparseRows<'a>> for UnitRows<'a> {
    fn from(rows: SparseRows<'a>) -> Self {
        UnitRows::new(rows)
    }
}

/// Unit rows of lists of terms and values, for tests.
#[cfg(test)]
pub(super) fn rows_of_lists(n_terms: usize, rows: &[Vec<(u32, f32)>]) -> UnitRows<'static> {
    let (mut offsets, mut terms, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in rows {
        terms.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1));
        offsets.push(terms.len() as u64);
    }
    SparseRows::from_parts(n_terms, offsets, terms, values).unwrap().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalising_twice_is_normalising_once_and_copies_nothing() {
        let parts = SparseRows::from_parts(4, vec![0, 3, 4], vec![0, 1, 3, 2], vec![0.1, 7.0, -3.3, 1e30]);
        let once = UnitRows::new(parts.unwrap());
        let values = once.as_sparse().values().to_vec();
        let again =
            SparseRows::from_parts(4, once.as_sparse().offsets(), once.as_sparse().terms(), &values[..]);
        let twice = UnitRows::new(again.unwrap());
        assert_eq!(once.as_sparse().values(), twice.as_sparse().values());
        assert!(std::ptr::eq(twice.as_sparse().values().as_ptr(), values.as_ptr()));
        assert!(!once.is_non_negative());
        assert_eq!(once.row(1).values, [1.0]);
    }

    #[test]
    fn scaling_a_row_by_a_power_of_two_changes_no_bit() {
        let unit = |factor: f32| {
            let values = [0.3f32, 1.7, 2.9].map(|v| v * factor).to_vec();
            UnitRows::new(SparseRows::from_parts(3, vec![0, 3], vec![0, 1, 2], values).unwrap())
        };
        assert_eq!(unit(1.0), unit(2.0));
        assert_eq!(unit(1.0), unit(0.25));
    }

    #[test]
    fn a_value_that_vanishes_beside_a_huge_one_is_dropped() {
        let rows = SparseRows::from_parts(3, vec![0, 2, 3], vec![0, 1, 2], vec![1e38, 1e-30, 5.0]).unwrap();
        let rows = UnitRows::new(rows);
        // Found by the fuzz target `rows`: the longest row was still said to have two.
        assert_eq!(rows, UnitRows::new(rows.as_sparse().clone()));
        assert_eq!(rows.as_sparse().offsets(), [0, 1, 2]);
        assert_eq!(rows.row(1).terms, [2]);
    }

    #[test]
    fn zero_rows_are_known() {
        let rows = SparseRows::from_parts(2, vec![0, 0, 1, 1], vec![1], vec![2.0]).unwrap();
        let rows = UnitRows::new(rows);
        assert_eq!(rows.zero_rows(), [DocId::new(0), DocId::new(2)]);
        assert_eq!(rows.n_nonzero_rows(), 1);
    }
}
