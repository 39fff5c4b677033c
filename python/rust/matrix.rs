//! Compressed sparse rows from and to NumPy arrays.
//!
//! A matrix comes as the three arrays of a SciPy CSR matrix. Values in f32, indices in int32 and
//! offsets in int64 are used in place; other types are converted once: values in f64 to f32
//! (scaled, if a row is too small or too large for it), indices in int64 to 32 bits, offsets in
//! int32 to 64 bits (those are few). Only rows that are not sorted, not of length one, or hold
//! zeros are copied, by the library.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use docsphere::{SparseRows, UnitRows};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{OrRaise, named};

/// The arrays of a SciPy CSR matrix, and its number of columns.
#[derive(FromPyObject)]
pub(crate) struct Csr<'py> {
    #[pyo3(item(0))]
    n_terms: usize,
    #[pyo3(item(1))]
    offsets: Integers<'py>,
    #[pyo3(item(2))]
    terms: Integers<'py>,
    #[pyo3(item(3))]
    values: Floats<'py>,
}

#[derive(FromPyObject)]
enum Integers<'py> {
    Int32(PyReadonlyArray1<'py, i32>),
    Int64(PyReadonlyArray1<'py, i64>),
}

#[derive(FromPyObject)]
enum Floats<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// The arrays as slices: these may cross to other threads.
pub(crate) struct Slices<'a> {
    n_terms: usize,
    offsets: IntegerSlice<'a>,
    terms: IntegerSlice<'a>,
    values: FloatSlice<'a>,
}

#[derive(Clone, Copy)]
enum IntegerSlice<'a> {
    Int32(&'a [i32]),
    Int64(&'a [i64]),
}

#[derive(Clone, Copy)]
enum FloatSlice<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Csr<'_> {
    pub(crate) fn slices(&self) -> PyResult<Slices<'_>> {
        let values = match &self.values {
            Floats::F32(array) => FloatSlice::F32(array.as_slice()?),
            Floats::F64(array) => FloatSlice::F64(array.as_slice()?),
        };
        Ok(Slices {
            n_terms: self.n_terms,
            offsets: self.offsets.slice()?,
            terms: self.terms.slice()?,
            values,
        })
    }
}

impl Integers<'_> {
    fn slice(&self) -> PyResult<IntegerSlice<'_>> {
        Ok(match self {
            Integers::Int32(array) => IntegerSlice::Int32(array.as_slice()?),
            Integers::Int64(array) => IntegerSlice::Int64(array.as_slice()?),
        })
    }
}

impl<'a> Slices<'a> {
    /// Checked rows.
    pub(crate) fn rows(&self) -> PyResult<SparseRows<'a>> {
        let offsets: Cow<'a, [u64]> = match self.offsets {
            IntegerSlice::Int32(offsets) => {
                Cow::Owned(offsets.iter().map(|&offset| i64::from(offset) as u64).collect())
            }
            // Negative values become far too large, and are refused as such.
            IntegerSlice::Int64(offsets) => Cow::Borrowed(bytemuck::cast_slice(offsets)),
        };
        let terms = match self.terms {
            IntegerSlice::Int32(terms) => Cow::Borrowed(bytemuck::cast_slice(terms)),
            IntegerSlice::Int64(terms) => Cow::Owned(narrow(terms, self.n_terms)?),
        };
        let values = match self.values {
            FloatSlice::F32(values) => Cow::Borrowed(values),
            FloatSlice::F64(values) => Cow::Owned(narrow_values(&offsets, values)),
        };
        SparseRows::from_parts(self.n_terms, offsets, terms, values).or_raise()
    }

    /// Checked rows of length one.
    pub(crate) fn unit_rows(&self) -> PyResult<UnitRows<'a>> {
        self.rows().map(UnitRows::new)
    }

    /// The number of rows.
    pub(crate) fn n_rows(&self) -> usize {
        let n_offsets = match self.offsets {
            IntegerSlice::Int32(offsets) => offsets.len(),
            IntegerSlice::Int64(offsets) => offsets.len(),
        };
        n_offsets.saturating_sub(1)
    }
}

/// Rows whose greatest value is within this range keep their bits when they are normalised; others
/// would leave the range of f32.
const SAFE: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// Values as f32. Rows that are too small or too great for it are scaled: only their direction
/// counts. The offsets have not been checked yet.
fn narrow_values(offsets: &[u64], values: &[f64]) -> Vec<f32> {
    let mut narrowed: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    for ends in offsets.windows(2) {
        let range = ends[0] as usize..ends[1] as usize;
        let Some(row) = values.get(range.clone()) else { continue };
        let greatest = row.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
        if greatest > 0.0 && greatest.is_finite() && !SAFE.contains(&greatest) {
            for (narrow, &value) in narrowed[range].iter_mut().zip(row) {
                *narrow = (value / greatest) as f32;
            }
        }
    }
    narrowed
}

fn narrow(terms: &[i64], n_terms: usize) -> PyResult<Vec<u32>> {
    let narrow = |&term: &i64| {
        u32::try_from(term).map_err(|_| {
            named("MatrixError", format!("column {term} is out of range: there are {n_terms} columns"))
        })
    };
    terms.iter().map(narrow).collect()
}

/// Rows processed between two checks for cancellation.
const ROWS_AT_ONCE: usize = 16_384;

/// Calls `each` for one part of the rows after the other, until all are done or the call is
/// cancelled.
pub(crate) fn in_parts(
    rows: &UnitRows<'_>,
    cancel: &AtomicBool,
    mut each: impl FnMut(&UnitRows<'_>) -> docsphere::Result<()>,
) -> docsphere::Result<()> {
    if rows.n_rows() <= ROWS_AT_ONCE {
        return each(rows);
    }
    let whole = rows.as_sparse();
    for start in (0..rows.n_rows()).step_by(ROWS_AT_ONCE) {
        if cancel.load(Relaxed) {
            break;
        }
        let end = rows.n_rows().min(start + ROWS_AT_ONCE);
        let offsets = &whole.offsets()[start..=end];
        let entries = offsets[0] as usize..offsets[end - start] as usize;
        let own_offsets: Vec<u64> = offsets.iter().map(|offset| offset - offsets[0]).collect();
        let (terms, values) = (&whole.terms()[entries.clone()], &whole.values()[entries]);
        each(&UnitRows::new(SparseRows::from_parts(whole.n_terms(), own_offsets, terms, values)?))?;
    }
    Ok(())
}

/// The parts of a SciPy CSR matrix: `(data, indices, indptr)`.
pub(crate) type Parts<'py, T = f32> =
    (Bound<'py, PyArray1<T>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>);

/// Rows as the parts of a SciPy CSR matrix.
pub(crate) fn parts<'py>(py: Python<'py>, rows: &SparseRows<'_>) -> Parts<'py> {
    // Neither ids nor offsets reach the sign: there are less than 2^28 terms.
    (
        PyArray1::from_slice(py, rows.values()),
        PyArray1::from_slice(py, bytemuck::cast_slice(rows.terms())),
        PyArray1::from_slice(py, bytemuck::cast_slice(rows.offsets())),
    )
}
