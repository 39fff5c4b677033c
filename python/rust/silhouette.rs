//! The silhouettes of rows.

use docsphere::Silhouette;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::matrix::Csr;
use crate::threads::on_threads;

/// The silhouette of each row, NaN without a label; and their mean.
#[pyfunction]
pub(crate) fn silhouette<'py>(
    py: Python<'py>,
    matrix: Csr<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    n_clusters: usize,
    n_threads: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    let (slices, labels) = (matrix.slices()?, labels.as_slice()?.to_vec().into());
    let Silhouette { of_rows, mean, .. } = on_threads(py, n_threads, |_| {
        docsphere::silhouette(&slices.unit_rows()?, &labels, n_clusters).or_raise()
    })?;
    Ok((PyArray1::from_vec(py, of_rows), mean))
}
