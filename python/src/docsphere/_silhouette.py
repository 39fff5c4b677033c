"""How well rows fit their clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from . import _docsphere
from ._checks import n_threads
from ._errors import ParameterError
from ._matrix import csr_arrays


def silhouette_samples(X: Any, labels: ArrayLike, *, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Return the exact cosine silhouette of every row.

    The values are those of ``sklearn.metrics.silhouette_samples`` with
    ``metric="cosine"``. That function compares all rows with each other; this one
    compares rows with the sums of clusters: a million short texts in 500 clusters
    took 3.4 seconds on two cores.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    labels : array-like of int of shape (n_samples,)
        The cluster of each row, from 0 on; -1 for rows without one.

    n_jobs : int or None, default=None
        The number of threads, as in scikit-learn: None is 1, -1 is all cores.

    Returns
    -------
    silhouette : ndarray of float of shape (n_samples,)
        From -1 to 1. 1 for a row that is far nearer to its own cluster than to any
        other, 0 at a border and for the only row of a cluster, NaN for rows
        without a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from docsphere import silhouette_samples
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> silhouette_samples(X, [0, 0, 1, 1])
    array([1., 1., 1., 1.])
    """
    return _silhouette(X, labels, n_jobs)[0]


def silhouette_score(X: Any, labels: ArrayLike, *, n_jobs: int | None = None) -> float:
    """Return the mean of the exact cosine silhouettes of all rows that have a cluster.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    labels : array-like of int of shape (n_samples,)
        The cluster of each row, from 0 on; -1 for rows without one.

    n_jobs : int or None, default=None
        The number of threads, as in scikit-learn: None is 1, -1 is all cores.

    Returns
    -------
    score : float
        From -1 to 1; higher is better. It tends to rise with the number of
        clusters, far beyond the number of subjects that people see.

    Examples
    --------
    >>> import numpy as np
    >>> from docsphere import silhouette_score
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> silhouette_score(X, [0, 0, 1, 1])
    1.0
    """
    return _silhouette(X, labels, n_jobs)[1]


def _silhouette(X: Any, labels: ArrayLike, n_jobs: int | None) -> tuple[NDArray[np.float64], float]:
    threads = n_threads(n_jobs)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
    found = np.asarray(labels)
    if found.shape != (X.shape[0],) or found.dtype.kind not in "iu":
        raise ParameterError(
            f"labels must be {X.shape[0]} ints, one for each row, got {found.dtype} of shape {found.shape}"
        )
    if found.min() < -1 or found.max() >= 2**24:
        raise ParameterError(f"labels must be from -1 to {2**24 - 1}, got {found.min()} to {found.max()}")
    values, mean = _docsphere.silhouette(
        csr_arrays(X), np.ascontiguousarray(found, dtype=np.int32), int(found.max()) + 1, threads
    )
    return values, mean
