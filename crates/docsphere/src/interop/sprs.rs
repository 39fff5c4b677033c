//! Sparse matrices of the crate sprs.

use std::borrow::Cow;

use sprs::{CsMat, CsMatI, CsMatView, CsMatViewI};

use crate::centroids::Centroids;
use crate::error::{Error, ErrorKind, Result};
use crate::vectors::SparseRows;

/// Without a copy, since the types are those of [`SparseRows`]. (The offsets of a slice that does
/// not begin with the first row are copied.)
///
/// ```
/// use docsphere::{SparseRows, SphericalKMeans, UnitRows};
/// use sprs::CsMatI;
///
/// let matrix: CsMatI<f32, u32, u64> =
///     CsMatI::new((3, 2), vec![0, 1, 2, 3], vec![0, 0, 1], vec![1.0, 2.0, 1.0]);
/// let rows = UnitRows::new(SparseRows::try_from(matrix.view())?);
/// let fit = SphericalKMeans::params(2).fit(&rows)?;
/// assert_eq!(fit.labels.as_slice()[0], fit.labels.as_slice()[1]);
/// let centroids: CsMatI<f32, u32, u64> = fit.model.centroids().into();
/// assert_eq!(centroids.shape(), (2, 2));
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] for a matrix that is stored by columns; and as
/// [`SparseRows::from_parts`].
impl<'a> TryFrom<CsMatViewI<'a, f32, u32, u64>> for SparseRows<'a> {
    type Error = Error;

    fn try_from(matrix: CsMatViewI<'a, f32, u32, u64>) -> Result<Self> {
        check_storage(matrix.is_csr())?;
        let n_terms = matrix.cols();
        let (offsets, terms, values) = matrix.into_raw_storage();
        let offsets = match offsets.first() {
            Some(&first) if first > 0 => offsets.iter().map(|offset| offset - first).collect(),
            _ => Cow::Borrowed(offsets),
        };
        SparseRows::from_parts(n_terms, offsets, terms, values)
    }
}

/// A copy, with the smaller integers of [`SparseRows`].
///
/// # Errors
/// [`ErrorKind::Mismatch`] for a matrix that is stored by columns; and as
/// [`SparseRows::from_parts`].
impl TryFrom<CsMatView<'_, f32>> for SparseRows<'static> {
    type Error = Error;

    fn try_from(matrix: CsMatView<'_, f32>) -> Result<Self> {
        copied(&matrix, |value| value)
    }
}

/// A copy, with values rounded to 32 bits; those that become zero are dropped.
///
/// # Errors
/// [`ErrorKind::Mismatch`] for a matrix that is stored by columns; and as
/// [`SparseRows::from_parts`], also for values that are too large for 32 bits.
impl TryFrom<CsMatView<'_, f64>> for SparseRows<'static> {
    type Error = Error;

    fn try_from(matrix: CsMatView<'_, f64>) -> Result<Self> {
        copied(&matrix, |value| value as f32)
    }
}

fn copied<N: Copy>(matrix: &CsMatView<'_, N>, value: impl Fn(N) -> f32) -> Result<SparseRows<'static>> {
    check_storage(matrix.is_csr())?;
    SparseRows::check_shape(matrix.rows(), matrix.cols())?;
    let offsets: Vec<u64> = matrix.proper_indptr().iter().map(|&offset| offset as u64).collect();
    // At most MAX_TERMS columns. A larger number would be rejected anyway.
    let terms: Vec<u32> =
        matrix.indices().iter().map(|&term| u32::try_from(term).unwrap_or(u32::MAX)).collect();
    let values: Vec<f32> = matrix.data().iter().map(|&number| value(number)).collect();
    SparseRows::from_parts(matrix.cols(), offsets, terms, values)
}

fn check_storage(is_csr: bool) -> Result<()> {
    if is_csr {
        return Ok(());
    }
    let expected = "by rows (CSR; to_csr() converts it)".to_owned();
    let got = "by columns (CSC)".to_owned();
    Err(ErrorKind::Mismatch { what: "the storage of the matrix", expected, got }.into())
}

/// A copy with the same types.
impl From<&SparseRows<'_>> for CsMatI<f32, u32, u64> {
    fn from(rows: &SparseRows<'_>) -> Self {
        let shape = (rows.n_rows(), rows.n_terms());
        CsMatI::new(shape, rows.offsets().to_vec(), rows.terms().to_vec(), rows.values().to_vec())
    }
}

/// A copy with sprs's default index type.
impl From<&SparseRows<'_>> for CsMat<f32> {
    fn from(rows: &SparseRows<'_>) -> Self {
        let shape = (rows.n_rows(), rows.n_terms());
        let offsets = rows.offsets().iter().map(|&offset| offset as usize).collect();
        let terms = rows.terms().iter().map(|&term| term as usize).collect();
        CsMatI::new(shape, offsets, terms, rows.values().to_vec())
    }
}

/// One row per cluster.
impl From<&Centroids> for CsMatI<f32, u32, u64> {
    fn from(centroids: &Centroids) -> Self {
        CsMatI::from(&centroids.to_sparse_rows())
    }
}

/// One row per cluster.
impl From<&Centroids> for CsMat<f32> {
    fn from(centroids: &Centroids) -> Self {
        CsMatI::from(&centroids.to_sparse_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Narrow = CsMatI<f32, u32, u64>;

    /// Three rows over four terms, the second one empty.
    fn rows() -> SparseRows<'static> {
        SparseRows::from_parts(4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, -2.0, 0.5]).unwrap()
    }

    #[test]
    fn matrices_make_the_round_trip_with_either_index_type() {
        let narrow = Narrow::from(&rows());
        assert_eq!(SparseRows::try_from(narrow.view()).unwrap(), rows());
        let wide = CsMat::<f32>::from(&rows());
        assert_eq!((wide.shape(), wide.get(0, 3)), ((3, 4), Some(&-2.0)));
        assert_eq!(SparseRows::try_from(wide.view()).unwrap(), rows());
        let double: CsMat<f64> = wide.map(|&value| f64::from(value));
        assert_eq!(SparseRows::try_from(double.view()).unwrap(), rows());
    }

    #[test]
    fn equal_types_are_not_copied() {
        let narrow = Narrow::from(&rows());
        let borrowed = SparseRows::try_from(narrow.view()).unwrap();
        assert_eq!(borrowed.values().as_ptr(), narrow.data().as_ptr());
        assert_eq!(borrowed.terms().as_ptr(), narrow.indices().as_ptr());
        assert_eq!(borrowed.offsets().as_ptr(), narrow.indptr().raw_storage().as_ptr());
    }

    #[test]
    fn a_slice_of_rows_counts_from_its_own_beginning() {
        let expected = SparseRows::from_parts(4, vec![0, 0, 1], vec![1], vec![0.5]).unwrap();
        let (narrow, wide) = (Narrow::from(&rows()), CsMat::<f32>::from(&rows()));
        assert_eq!(SparseRows::try_from(narrow.slice_outer(1..3)).unwrap(), expected);
        assert_eq!(SparseRows::try_from(wide.slice_outer(1..3)).unwrap(), expected);
    }

    #[test]
    fn columns_and_values_that_are_no_numbers_are_refused() {
        let expected =
            "the storage of the matrix must be by rows (CSR; to_csr() converts it), got by columns (CSC)";
        let (narrow, wide) = (Narrow::from(&rows()), CsMat::<f32>::from(&rows()));
        for error in [
            SparseRows::try_from(narrow.transpose_view()).unwrap_err(),
            SparseRows::try_from(wide.transpose_view()).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), expected);
        }
        let large = wide.map(|_| 1e39f64);
        let message = SparseRows::try_from(large.view()).unwrap_err().to_string();
        assert_eq!(message, "row 0: the value of term 0 is inf; values must be finite");
    }

    #[test]
    fn centroids_become_a_row_per_cluster() {
        let centroids = Centroids::from_rows(rows());
        let matrix = CsMat::<f32>::from(&centroids);
        assert_eq!((matrix.shape(), matrix.nnz(), matrix.get(2, 1)), ((3, 4), 3, Some(&1.0)));
        assert_eq!(
            SparseRows::try_from(Narrow::from(&centroids).view()).unwrap(),
            centroids.to_sparse_rows()
        );
    }
}
