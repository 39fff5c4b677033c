"""Rows that are copies of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from . import _docsphere
from ._checks import n_threads
from ._matrix import csr_arrays


def find_duplicates(X: Any, *, similarity: float = 0.9, n_jobs: int | None = None) -> NDArray[np.int64]:
    """Find rows that are copies of earlier ones, as ``docsphere cluster --duplicates`` does.

    A row is a copy if its cosine similarity to an earlier row that is no copy itself
    is high enough. Of several such rows, the first is its original. Rows without
    any value are never copies.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    similarity : float, default=0.9
        The similarity from which on a row is a copy, from 0.5 to 1. With 1, only
        rows that are equal once they have length one are copies.

    n_jobs : int or None, default=None
        The number of threads, as in scikit-learn: None is 1, -1 is all cores.

    Returns
    -------
    originals : ndarray of int of shape (n_samples,)
        For each row the number of the row that it is a copy of; its own number if
        it is no copy.

    Examples
    --------
    Cluster only originals, each as often as it occurs:

    >>> import numpy as np
    >>> from docsphere import SphericalKMeans, find_duplicates
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [9.0, 1.0]])
    >>> originals = find_duplicates(X)
    >>> originals
    array([0, 1, 0, 0])
    >>> kept, rows, weights = np.unique(originals, return_inverse=True, return_counts=True)
    >>> model = SphericalKMeans(2).fit(X[kept], sample_weight=weights)
    >>> labels = model.labels_[rows]
    >>> bool(labels[0] == labels[2] == labels[3] != labels[1])
    True
    """
    threads = n_threads(n_jobs)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
    return _docsphere.duplicates(csr_arrays(X), float(similarity), threads)
