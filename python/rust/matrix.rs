//! Compressed sparse rows from and to NumPy arrays.
//!
//! A matrix comes as the three arrays of a SciPy CSR matrix. Values in f32, indices in int32 and offsets in int64 are used where they are; other types are converted once: values in f64 to f32,
//! indices in int64 to 32 bits, offsets in int32 to 64 bits (those are few). Only rows that are not sorted, not of length one, or hold zeros are copied, by the library.

use std::borrow::Cow;

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
        let offsets = match self.offsets {
            IntegerSlice::Int32(offsets) => {
                Cow::Owned(offsets.iter().map(|&offset| i64::from(offset) as u64).collect())
            }
            // What is negative becomes far too great, and is refused as such.
            IntegerSlice::Int64(offsets) => Cow::Borrowed(bytemuck::cast_slice(offsets)),
        };
        let terms = match self.terms {
            IntegerSlice::Int32(terms) => Cow::Borrowed(bytemuck::cast_slice(terms)),
            IntegerSlice::Int64(terms) => Cow::Owned(narrow(terms, self.n_terms)?),
        };
        let values = match self.values {
            FloatSlice::F32(values) => Cow::Borrowed(values),
            // What is too great becomes infinite, and is refused as such.
            FloatSlice::F64(values) => Cow::Owned(values.iter().map(|&value| value as f32).collect()),
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

fn narrow(terms: &[i64], n_terms: usize) -> PyResult<Vec<u32>> {
    let narrow = |&term: &i64| {
        u32::try_from(term).map_err(|_| {
            named("MatrixError", format!("column {term} is out of range: there are {n_terms} columns"))
        })
    };
    terms.iter().map(narrow).collect()
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
