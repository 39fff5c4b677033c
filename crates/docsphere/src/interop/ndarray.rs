//! Dense arrays of the crate ndarray.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::vectors::SparseRows;

/// The rows of a dense array: its nonzero entries.
///
/// Suits embeddings, for example, whose values may be negative. Takes 8 bytes per nonzero entry.
///
/// ```
/// use docsphere::{SparseRows, SphericalKMeans, UnitRows};
/// use ndarray::array;
///
/// let embeddings = array![[0.9f32, 0.1, 0.0], [0.8, 0.2, 0.0], [-0.1, 0.0, 1.0]];
/// let rows = UnitRows::new(SparseRows::try_from(embeddings.view())?);
/// let fit = SphericalKMeans::params(2).fit(&rows)?;
/// assert_eq!(fit.labels.as_slice()[0], fit.labels.as_slice()[1]);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Row`](crate::ErrorKind::Row) for a value that is not finite;
/// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for more rows than
/// [`MAX_ROWS`](crate::MAX_ROWS) or more columns than [`MAX_TERMS`](crate::MAX_TERMS).
impl TryFrom<ArrayView2<'_, f32>> for SparseRows<'static> {
    type Error = Error;

    fn try_from(array: ArrayView2<'_, f32>) -> Result<Self> {
        SparseRows::check_shape(array.nrows(), array.ncols())?;
        let nnz = array.iter().filter(|&&value| value != 0.0).count();
        let (mut terms, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
        let mut offsets = Vec::with_capacity(array.nrows() + 1);
        offsets.push(0u64);
        for row in array.rows() {
            // At most MAX_TERMS columns, so a column number fits.
            for (term, &value) in (0u32..).zip(row).filter(|&(_, &value)| value != 0.0) {
                terms.push(term);
                values.push(value);
            }
            offsets.push(terms.len() as u64);
        }
        SparseRows::from_parts(array.ncols(), offsets, terms, values)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array, s};

    use super::*;

    #[test]
    fn entries_that_are_not_zero_become_rows_whatever_the_layout() {
        let array = array![[0.0f32, 1.5, -0.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 3.0]];
        let expected =
            SparseRows::from_parts(3, vec![0, 1, 1, 3], vec![1, 0, 2], vec![1.5, -2.0, 3.0]).unwrap();
        assert_eq!(SparseRows::try_from(array.view()).unwrap(), expected);
        // Column-major, and every second row.
        let by_columns = array.t().as_standard_layout().into_owned();
        assert_eq!(SparseRows::try_from(by_columns.t()).unwrap(), expected);
        let some = SparseRows::try_from(array.slice(s![..;2, ..])).unwrap();
        assert_eq!((some.n_rows(), some.row(1).terms), (2, &[0, 2][..]));
    }

    #[test]
    fn what_is_no_number_is_refused_with_its_place() {
        let array = array![[1.0f32, 0.0], [0.0, f32::NAN]];
        let message = SparseRows::try_from(array.view()).unwrap_err().to_string();
        assert_eq!(message, "row 1: the value of term 1 is NaN; values must be finite");
        let empty = SparseRows::try_from(Array2::<f32>::zeros((0, 4)).view()).unwrap();
        assert_eq!((empty.n_rows(), empty.n_terms()), (0, 4));
    }
}
