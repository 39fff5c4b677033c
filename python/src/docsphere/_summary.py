"""What clusters are about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from ._checks import n_threads, positive
from ._errors import ParameterError
from ._kmeans import SphericalKMeans
from ._matrix import csr_arrays
from ._pipeline import fitted_parts


def keywords(
    model: SphericalKMeans | Pipeline, feature_names: ArrayLike | None = None, *, n: int = 10
) -> list[list[tuple[str, float]]]:
    """Return the terms that distinguish each cluster from the others.

    A term is ranked by its share in the cluster's centroid and by how much
    greater that is than its share in the others.

    Parameters
    ----------
    model : SphericalKMeans or Pipeline
        A fitted estimator, or a pipeline of a `TextVectorizer` and an estimator.

    feature_names : array-like of str or None, default=None
        The names of the columns; by default those that the model knows. A
        pipeline knows them.

    n : int, default=10
        Maximum number of keywords per cluster.

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
    n = positive("n", n)
    vectorizer, model = fitted_parts(model)
    if not hasattr(model, "labels_"):
        raise ParameterError("model must have been fitted here: a file does not hold the labels that keywords need")
    if feature_names is None and vectorizer is not None:
        feature_names = vectorizer.get_feature_names_out()
    names = feature_names_of(model, feature_names)
    found = model._model.keywords(checked_labels(model), n, n_threads(model.n_jobs))
    return [[(str(names[term]), score) for term, score in words] for words in found]


def keyword_shares(
    model: SphericalKMeans | Pipeline, X: Any, feature_names: ArrayLike | None = None, *, n: int = 10
) -> list[list[tuple[str, float]]]:
    """Return the keywords of each cluster, and the share of its rows that have them.

    Parameters
    ----------
    model : SphericalKMeans or Pipeline
        A fitted estimator, or a pipeline of a `TextVectorizer` and an estimator.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of `fit`, or others; texts for a pipeline.

    feature_names : array-like of str or None, default=None
        The names of the columns; by default those that the model knows. A
        pipeline knows them.

    n : int, default=10
        Maximum number of keywords per cluster.

    Returns
    -------
    shares : list of list of (str, float)
        For each cluster the keywords of `keywords`, the best first, and the exact
        share of the rows of the cluster that have a value there.

    See Also
    --------
    keywords : The same terms with their scores, without rows.

    Examples
    --------
    >>> from docsphere import SphericalKMeans, TextVectorizer, keyword_shares
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["cats purr", "cats, more cats", "cats sleep", "rates rise", "rates, rates", "rates fall"]
    >>> pipeline = make_pipeline(TextVectorizer(), SphericalKMeans(n_clusters=2, n_init=10, random_state=0)).fit(texts)
    >>> sorted(words[0] for words in keyword_shares(pipeline, texts, n=1))
    [('cats', 1.0), ('rates', 1.0)]
    """
    n = positive("n", n)
    vectorizer, model = fitted_parts(model)
    if vectorizer is not None:
        X = vectorizer.transform(X)
        feature_names = vectorizer.get_feature_names_out() if feature_names is None else feature_names
    names = feature_names_of(model, feature_names)
    matrix, threads = csr_arrays(model._validated(X, reset=False)), n_threads(model.n_jobs)
    labels, similarities = model._model.predict(matrix, threads)
    found = model._model.keyword_shares(matrix, labels, similarities, n, threads)
    return [[(str(names[term]), share) for term, share in words] for words in found]


def representatives(model: SphericalKMeans | Pipeline, X: Any, *, n: int = 3) -> list[NDArray[np.intp]]:
    """Return representative rows of each cluster.

    They are near its centroid, have several of its keywords, and differ from each
    other (maximal marginal relevance). Near duplicates of a row that was already
    chosen are left out, and very short rows come last.

    Parameters
    ----------
    model : SphericalKMeans or Pipeline
        A fitted estimator, or a pipeline of a `TextVectorizer` and an estimator.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of `fit`, or others; texts for a pipeline.

    n : int, default=3
        Maximum number of rows per cluster.

    Returns
    -------
    rows : list of ndarray of int
        For each cluster the positions of its rows, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> from docsphere import SphericalKMeans, representatives
    >>> X = np.array([[1.0, 0.0], [0.9, 0.2], [0.0, 1.0]])
    >>> model = SphericalKMeans(n_clusters=2, n_init=10, random_state=0).fit(X)
    >>> sorted(len(rows) for rows in representatives(model, X, n=1))
    [1, 1]
    """
    n = positive("n", n)
    vectorizer, model = fitted_parts(model)
    if vectorizer is not None:
        X = vectorizer.transform(X)
    matrix, threads = csr_arrays(model._validated(X, reset=False)), n_threads(model.n_jobs)
    labels, similarities = model._model.predict(matrix, threads)
    found = model._model.representatives(matrix, labels, similarities, n, threads)
    return [np.array([row for row, _ in rows], dtype=np.intp) for rows in found]


def checked_labels(model: SphericalKMeans) -> NDArray[np.int32]:
    """Return the labels after checking them: the user may have changed them."""
    labels, n_clusters = np.asarray(model.labels_), model._model.n_clusters
    if labels.shape != model.similarities_.shape or labels.dtype.kind not in "iu":
        raise ParameterError(
            f"labels_ must be {len(model.similarities_)} ints, one for each row of fit, "
            f"got {labels.dtype} of shape {labels.shape}"
        )
    if labels.size and not (labels.min() >= -1 and labels.max() < n_clusters):
        raise ParameterError(f"labels_ must be from -1 to {n_clusters - 1}, got {labels.min()} to {labels.max()}")
    return np.ascontiguousarray(labels, dtype=np.int32)


def feature_names_of(model: SphericalKMeans, feature_names: ArrayLike | None, *, required: bool = True) -> Any:
    """Return the given names of the columns, or those that the model knows."""
    n_terms = model._model.n_terms
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        feature_names = model._model.term_names
    if feature_names is None and not required:
        return None
    if feature_names is None:
        raise ParameterError("feature_names must be given: the estimator does not know the names of the columns")
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_terms,):
        raise ParameterError(f"feature_names must hold {n_terms} names, one for each column, got {names.shape}")
    return names
