"""The estimator."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from . import _docsphere
from ._checks import n_threads, positive
from ._devices import prepare
from ._errors import ParameterError
from ._matrix import csr_arrays, csr_matrix
from ._progress import ProgressBar

if TYPE_CHECKING:
    from ._report import Report

_INITS = ("merge", "k-means++", "plain-k-means++", "random")


class SphericalKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Spherical k-means: clusters of rows with a high cosine similarity.

    Every row is scaled to length one; a centroid is the direction of the sum of
    its rows; every row belongs to the centroid with the greatest cosine
    similarity. The result is exact, and the same for every `algorithm` and every
    `n_jobs`. Matrices stay sparse throughout, centroids included.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.

    init : {"merge", "k-means++", "plain-k-means++", "random"} or matrix of shape \
            (n_clusters, n_features), default="merge"
        How the initial centroids are chosen: several times as many small clusters,
        merged until `n_clusters` are left, which ends with the greatest objective;
        by spherical k-means++ in its greedy form, as in scikit-learn; by its plain
        form, which is faster; rows drawn at random; or those given, sparse or dense.

    effort : {"fast", "default", "best"}, default="default"
        How much time to spend on a greater objective. "fast" has fewer small
        clusters before the merges, and no first variation; "best" makes five runs,
        and then ten that perturb the best one, in about six times the time. The
        next three parameters replace what it says.

    n_init : int or None, default=None
        The number of runs with different seeds. The one with the greatest
        objective is kept. None is 1, or 5 with effort "best".

    variation : bool or None, default=None
        Whether single rows move if the objective gains, once the loop has
        converged; then it goes on. None is true, except with effort "fast".

    rounds : int or None, default=None
        The number of further runs that start from the best one so far, with new
        small clusters that are merged again. None is 0, or 10 with effort "best".

    refine : {"none", "root"}, default="none"
        What follows: with "root", up to ten passes with root centroids, whose
        entries are the roots of the summed entries of their rows. Often agrees
        better with people's judgement on short texts, but no longer maximises the
        objective of spherical k-means.

    max_iter : int, default=100
        The maximum number of iterations per run.

    tol : float, default=1e-4
        A run ends when every centroid moved by a squared distance of less than
        this; with 0 it goes on until no label changes.

    random_state : int, RandomState instance or None, default=None
        The source of random numbers. An int, up to ``2**64 - 1``, gives the same
        result every time: that of ``docsphere cluster --seed`` with the same
        options. The defaults are the same, too.

    algorithm : str, default="auto"
        The assignment strategy. Affects time and memory, never the result.

        - "auto": "drift", or a simpler strategy where that is faster.
        - "baseline": every row against every centroid.
        - "ncc": as "baseline", but skips centroids that did not change.
        - "index": only centroids that share enough weight with the row.
        - "ncc-index": "ncc" and "index" combined.
        - "inverted": all similarities of a row in one pass over posting lists.
        - "drift": only centroids that moved further than the row's slack.

    device : {"cpu", "auto", "cuda"}, default="cpu"
        Where labels are found: on the CPU, or on the first CUDA device, which needs
        NVIDIA's driver and NVRTC (``pip install docsphere[cuda]``, the CUDA toolkit
        or PyTorch). "auto" takes a GPU if one can be used. Never changes the result.
        If the GPU cannot go on, the CPU does; with "cuda" there is a warning.

    n_jobs : int or None, default=None
        The number of threads, as in scikit-learn: None is one unless in a
        `joblib.parallel_backend` context, -1 is all cores; at most 4096. Never
        changes the result.

    verbose : int, default=0
        With 1 or more, show a progress bar.

    callback : callable or None, default=None
        Called with a dict per event. ``event`` is "run" (with ``run`` and
        ``n_init``), "seeding" (with ``done`` and ``total``, at most twenty times per
        second) or "iteration" (with the items of an iteration of `trace_`). If it
        returns a true value, `fit` ends with the best result so far; during the
        seeding of the first run there is none, and `StoppedError` is raised.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; -1 for rows without any entry, which have no
        direction, and for outliers, whose similarity to no centroid is above 0.

    cluster_centers_ : csr_matrix of shape (n_clusters, n_features)
        The centroids: sparse rows of length one. They are never made dense; use
        ``cluster_centers_.toarray()`` if there is memory for it.

    similarities_ : ndarray of shape (n_samples,)
        The cosine similarity of each row to its centroid.

    similarity_ : float
        The objective: the sum of `similarities_`, weighted by `sample_weight`.

    inertia_ : float
        The weighted sum of squared distances of the unit rows to their
        centroids, ``sum(w * (2 - 2 * similarity))``. Rows without any entry do
        not count.

    n_iter_ : int
        The number of iterations of the run that was kept.

    converged_ : bool
        Whether that run converged, rather than being ended by `max_iter` or the
        callback.

    n_empty_clusters_ : int
        Clusters without any row, if there are fewer distinct rows than clusters.

    n_outliers_ : int
        Rows with entries, but without a similarity above 0 to any centroid.

    trace_ : dict
        The record of `fit`. ``runs`` has an item per run, with ``run``,
        ``objective``, ``n_iter``, ``stop`` (why it ended),
        ``seeding_seconds`` and ``seeding_phases`` (where these went); ``best_run``
        is the one that was kept, ``iterations`` are its iterations. Number 0 is
        the assignment to the seeds. Each has
        ``iteration``, ``strategy``, ``filters_off``, ``moved_docs``,
        ``changed_clusters``, ``unsettled_docs``, ``refilled_clusters``,
        ``similarities``, ``postings``, ``skipped_docs``, ``objective``,
        ``max_squared_movement``, ``seconds`` (of ``update``, ``prepare`` and
        ``assign``; where "drift" is used, ``phases`` has the parts of the last two)
        and ``strategy_bytes``; with "index" and "ncc-index" also ``index``, with
        a device also ``transferred`` (bytes ``sent`` and ``received``).

    n_features_in_ : int
        The number of columns seen by `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if `fit` was given a table with names.

    Notes
    -----
    A CSR matrix of float32 with sorted column indices in int32 and rows of
    length one is read where it is, without a copy; do not write to it while
    `fit` runs. float64 is converted to float32. The interpreter's lock is
    released. Ctrl-C ends `fit`, `predict`, `score` and `transform` with `top_m`
    immediately; `transform` to all centroids reacts only when it is finished.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from docsphere import SphericalKMeans
    >>> X = csr_matrix(np.array([[1, 2, 0, 0], [2, 1, 0, 0], [0, 0, 1, 3], [0, 0, 2, 1.0]]))
    >>> kmeans = SphericalKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(kmeans.labels_[0] == kmeans.labels_[1] != kmeans.labels_[2])
    True
    >>> kmeans.predict(X) == kmeans.labels_
    array([ True,  True,  True,  True])
    >>> kmeans.transform(X).shape
    (4, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(_INITS)), "array-like", "sparse matrix"],
        "effort": [StrOptions({"fast", "default", "best"})],
        "n_init": [Interval(Integral, 1, None, closed="left"), None],
        "variation": ["boolean", None],
        "rounds": [Interval(Integral, 0, 10_000, closed="both"), None],
        "refine": [StrOptions({"none", "root"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state", Interval(Integral, 0, 2**64 - 1, closed="both")],
        "algorithm": [StrOptions(set(_docsphere.algorithms()))],
        "device": [StrOptions(set(_docsphere.devices()))],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike | Any = "merge",
        effort: str = "default",
        n_init: int | None = None,
        variation: bool | None = None,
        rounds: int | None = None,
        refine: str = "none",
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        algorithm: str = "auto",
        device: str = "cpu",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.effort = effort
        self.n_init = n_init
        self.variation = variation
        self.rounds = rounds
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.algorithm = algorithm
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> SphericalKMeans:
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows. CSR matrices are used without a copy; others are converted.

        y : Ignored
            There by convention.

        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. Rows of weight 0 are labelled, but move
            no centroid.

        Returns
        -------
        self : SphericalKMeans
            The fitted estimator.
        """
        self.__dict__.pop("_model", None)  # If this fails, the estimator is not fitted.
        self._validate_params()
        X = self._validated(X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ParameterError(f"n_samples={X.shape[0]} must be at least n_clusters={self.n_clusters}")
        weights = None
        if sample_weight is not None:
            weights = np.ascontiguousarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
        self._keep(self._run(X, weights), weights)
        return self

    def _keep(self, fitted: _docsphere.Fitted | _docsphere.CoordinatedFit, weights: NDArray[np.float64] | None) -> None:
        """Set the attributes of a fitted estimator."""
        labels, similarities = fitted.labels, fitted.similarities
        assert labels is not None and similarities is not None
        self._model = fitted.model
        self.labels_ = labels
        self.similarities_ = similarities
        self.similarity_ = fitted.objective
        has_direction = labels >= 0
        total = float(has_direction.sum() if weights is None else weights[has_direction].sum())
        self.inertia_ = max(0.0, 2.0 * (total - fitted.objective))
        self.n_iter_ = fitted.n_iter
        self.converged_ = fitted.converged
        self.n_empty_clusters_ = fitted.n_empty_clusters
        self.n_outliers_ = fitted.n_outliers
        self.trace_ = json.loads(fitted.trace)
        self._set_centers()

    def fit_predict(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Find the clusters, and return the cluster of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : Ignored
            There by convention.

        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row; -1 for rows without any entry, and for
            rows without a similarity above 0 to any centroid.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def _run(self, X: Any, weights: NDArray[np.float64] | None) -> _docsphere.Fitted:
        options = self._options(X.shape[1], X.dtype) | {"n_threads": n_threads(self.n_jobs)}
        bar = ProgressBar(self.max_iter) if self.verbose else None
        watchers = [watcher for watcher in (bar, self.callback) if watcher is not None]

        def watch(event: str) -> bool:
            record = json.loads(event)
            return any([bool(watcher(record)) for watcher in watchers])

        try:
            fitted = _docsphere.fit(csr_arrays(X), options, weights, watch if watchers else None)
            if self.device == "cuda" and fitted.left_device is not None:
                warnings.warn(f"the CPU was used: {fitted.left_device}", RuntimeWarning, stacklevel=3)
            if bar is not None:
                bar.finish()
            return fitted
        finally:
            if bar is not None:
                bar.close()

    def _options(self, n_columns: int, dtype: Any) -> dict[str, Any]:
        """Return the parameters, checked, as the compiled part takes them."""
        prepare(self.device)
        init = self.init
        if not isinstance(init, str):
            init = csr_arrays(self._validated_init(init, n_columns, dtype))
        return {
            "n_clusters": int(self.n_clusters),
            "init": init,
            "effort": self.effort,
            "n_init": None if self.n_init is None else int(self.n_init),
            "variation": None if self.variation is None else bool(self.variation),
            "rounds": None if self.rounds is None else int(self.rounds),
            "refine": self.refine,
            "max_iter": int(self.max_iter),
            "tol": float(self.tol),
            "seed": self._seed(),
            "algorithm": self.algorithm,
            "device": self.device,
        }

    def _validated_init(self, init: Any, n_columns: int, dtype: Any) -> Any:
        if not sparse.issparse(init):
            init = np.asarray(init, dtype=dtype)
        expected = (self.n_clusters, n_columns)
        if init.shape != expected:
            raise ParameterError(f"init must be a matrix of shape {expected}, got shape {init.shape}")
        return check_array(init, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="init")

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _validated(self, X: Any, *, reset: bool) -> Any:
        try:
            return validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True
            )
        except ValueError as error:
            if not _holds_texts(X):
                raise
            raise ParameterError(
                "X must be a matrix of numbers, got texts; TextVectorizer makes one of them"
            ) from error

    def _set_centers(self) -> None:
        self.cluster_centers_ = csr_matrix(self._model.centroids(), self._model.n_terms)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    @property
    def _n_features_out(self) -> int:
        """The number of columns of `transform`."""
        return self._model.n_clusters

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the nearest cluster of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row; -1 for rows without any entry, and for
            rows without a similarity above 0 to any centroid.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        labels, _ = self._model.predict(csr_arrays(X), n_threads(self.n_jobs))
        return labels

    def transform(self, X: Any, top_m: int | None = None) -> Any:
        """Return the cosine similarity of each row to each centroid.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        top_m : int or None, default=None
            Only the similarities to this many nearest centroids, as a sparse
            matrix. With many clusters, all similarities take a lot of memory.

        Returns
        -------
        similarities : ndarray or csr_matrix of shape (n_samples, n_clusters)
            From -1 to 1; 0 for empty clusters.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        matrix, threads = csr_arrays(X), n_threads(self.n_jobs)
        if top_m is not None:
            nearest = self._model.nearest(matrix, positive("top_m", top_m), threads)
            return csr_matrix(nearest, self._model.n_clusters).astype(X.dtype, copy=False)
        if X.dtype == np.float32:
            return self._model.similarities_f32(matrix, threads)
        return self._model.similarities(matrix, threads)

    def show(self, X: Any, texts: Iterable[str] | None = None, *, height: int = 760, **options: Any) -> Report:
        """Return the report page of the clusters, which a notebook shows. No file is written.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of `fit`, or others.

        texts : iterable of str or None, default=None
            The text of each row, to be shown.

        height : int, default=760
            The height of the frame in a notebook, in pixels.

        **options
            Those of `docsphere.report`: `ids`, `feature_names`, `title` and so on.

        Returns
        -------
        report : Report
            The page.

        See Also
        --------
        docsphere.report : Writes the page to a file; also for a pipeline.
        """
        from ._result import report

        return report(self, X, texts, None, **options).show(height)

    def score(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the objective of new rows: the sum of their similarities.

        It grows with the number of rows and of clusters. In a `GridSearchCV` it
        can compare options at the same `n_clusters`, but not select `n_clusters`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        y : Ignored
            There by convention.

        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        score : float
            The sum of the similarities to the nearest centroids.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        _, similarities = self._model.predict(csr_arrays(X), n_threads(self.n_jobs))
        if sample_weight is None:
            return float(similarities.sum())
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if weights.min() < 0:
            raise ParameterError(f"sample_weight must not be negative, got {weights.min():g}")
        return float(similarities @ weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _holds_texts(X: Any) -> bool:
    if sparse.issparse(X):
        return False
    return any(isinstance(value, str) for value in np.asarray(X, dtype=object).ravel()[:100])
