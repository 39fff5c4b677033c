"""What clusters are about."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ._errors import ParameterError
from ._kmeans import SphericalKMeans
from ._matrix import csr_arrays


def keywords(
    model: SphericalKMeans, feature_names: ArrayLike | None = None, *, n: int = 10
) -> list[list[tuple[str, float]]]:
    """Return the terms that tell each cluster from the others.

    A term is ranked by its share in the cluster's centroid and by how much
    greater that is than its share in the others.

    Parameters
    ----------
    model : SphericalKMeans
        A fitted estimator.

    feature_names : array-like of str or None, default=None
        The names of the columns; by default those that the estimator knows.

    n : int, default=10
        Keywords a cluster, at most.

    Returns
    -------
    keywords : list of list of (str, float)
        For each cluster the keywords, the best first, and their scores from 0 to
        1: the share in this centroid against that in all others.

    Examples
    --------
    >>> from docsphere import SphericalKMeans, TextVectorizer, keywords
    >>> vectorizer = TextVectorizer()
    >>> texts = ["cats purr", "cats, more cats", "cats sleep", "rates rise", "rates, rates", "rates fall"]
    >>> X = vectorizer.fit_transform(texts)
    >>> model = SphericalKMeans(n_clusters=2, n_init=10, random_state=0).fit(X)
    >>> sorted(words[0][0] for words in keywords(model, vectorizer.get_feature_names_out(), n=1))
    ['cats', 'rates']
    """
    _check_model(model)
    if not hasattr(model, "labels_"):
        raise ParameterError("model must have been fitted here: a file does not hold the labels that keywords need")
    names = _feature_names(model, feature_names)
    sizes_only = sparse.csr_array((len(model.labels_), model._model.n_terms), dtype=np.float32)
    summaries = model._model.summarize(
        csr_arrays(sizes_only), model.labels_, model.similarities_, (n, 0), effective_n_jobs(model.n_jobs)
    )
    return [[(str(names[term]), score) for term, score in words] for _, _, words, _ in summaries]


def representatives(model: SphericalKMeans, X: Any, *, n: int = 3) -> list[NDArray[np.intp]]:
    """Return the rows that stand for each cluster: those nearest to its centroid.

    Rows that nearly repeat one that was chosen are left out.

    Parameters
    ----------
    model : SphericalKMeans
        A fitted estimator.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows that it was fitted to, or others.

    n : int, default=3
        Rows a cluster, at most.

    Returns
    -------
    rows : list of ndarray of int
        For each cluster the positions of its rows, the nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from docsphere import SphericalKMeans, representatives
    >>> X = np.array([[1.0, 0.0], [0.9, 0.2], [0.0, 1.0]])
    >>> model = SphericalKMeans(n_clusters=2, n_init=10, random_state=0).fit(X)
    >>> sorted(len(rows) for rows in representatives(model, X, n=1))
    [1, 1]
    """
    _check_model(model)
    matrix = csr_arrays(model._validated(X, reset=False))
    n_threads = effective_n_jobs(model.n_jobs)
    labels, similarities = model._model.predict(matrix, n_threads)
    summaries = model._model.summarize(matrix, labels, similarities, (0, n), n_threads)
    return [np.array([row for row, _ in rows], dtype=np.intp) for _, _, _, rows in summaries]


def _check_model(model: SphericalKMeans) -> None:
    if not isinstance(model, SphericalKMeans):
        raise ParameterError(
            f"model must be a SphericalKMeans, got {type(model).__name__}; of a pipeline, give its step"
        )
    check_is_fitted(model)


def _feature_names(model: SphericalKMeans, feature_names: ArrayLike | None) -> Any:
    n_terms = model._model.n_terms
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        feature_names = model._model.term_names
    if feature_names is None:
        raise ParameterError("feature_names must be given: the estimator does not know the names of the columns")
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_terms,):
        raise ParameterError(f"feature_names must hold {n_terms} names, one for each column, got {names.shape}")
    return names
