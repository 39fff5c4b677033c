//! Rows that are copies of earlier ones.

use docsphere::Duplicates;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::matrix::Csr;
use crate::threads::on_threads;

/// For each row the number of the row that it is a copy of; its own if it is no copy.
#[pyfunction]
pub(crate) fn duplicates<'py>(
    py: Python<'py>,
    matrix: Csr<'py>,
    similarity: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let slices = matrix.slices()?;
    let found = on_threads(py, n_threads, |_| Duplicates::find(&slices.unit_rows()?, similarity).or_raise())?;
    Ok(PyArray1::from_iter(py, found.representatives().iter().map(|&row| i64::from(row))))
}
