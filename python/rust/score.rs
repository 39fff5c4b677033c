//! Clusters against known classes.

use docsphere::Contingency;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// Normalised mutual information, adjusted Rand index, accuracy, purity, and the number of rows
/// that have both a cluster and a class.
#[pyfunction]
pub(crate) fn score(
    py: Python<'_>,
    labels: PyReadonlyArray1<'_, i32>,
    classes: PyReadonlyArray1<'_, i32>,
) -> PyResult<(f64, f64, f64, f64, u64)> {
    let [labels, classes] = [labels.as_slice()?.to_vec().into(), classes.as_slice()?.to_vec().into()];
    py.detach(|| {
        let both = Contingency::new(&labels, &classes).or_raise()?;
        let agreement = both.agreement();
        Ok((agreement.nmi, agreement.ari, both.accuracy(), both.purity(), both.n_docs()))
    })
}
