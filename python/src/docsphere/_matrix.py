"""Conversion of matrices to and from the compiled part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from ._docsphere import _CsrArrays, _CsrParts


def csr_arrays(X: Any) -> _CsrArrays:
    """Return a validated matrix as number of columns, offsets, indices and values.

    The compiled part reads the arrays of a CSR matrix in place. Dense arrays are
    converted to sparse ones first.
    """
    if not sparse.issparse(X):
        X = sparse.csr_array(np.asarray(X))
    elif X.format != "csr":
        X = X.tocsr()
    values = X.data
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    integers = [
        array if array.dtype in (np.int32, np.int64) else array.astype(np.int64) for array in (X.indptr, X.indices)
    ]
    offsets, indices, values = (np.ascontiguousarray(array) for array in (*integers, values))
    return int(X.shape[1]), offsets, indices, values


def csr_matrix(parts: _CsrParts, n_columns: int) -> sparse.csr_matrix:
    """Return values, indices and offsets of the compiled part as a SciPy matrix."""
    values, indices, offsets = parts
    return sparse.csr_matrix((values, indices, offsets), shape=(len(offsets) - 1, n_columns))
