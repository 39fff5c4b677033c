"""The estimator for data that is on the nodes of a cluster already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import ray
from numpy.typing import ArrayLike

from .. import _kmeans
from .._checks import n_threads as threads_of
from .._errors import ParameterError
from .._executors import MakeShard
from .._files import vectorizer_of
from .._progress import ProgressBar
from .._text import TextVectorizer
from ._executor import Placement
from ._nodes import connected, shards_and_threads
from ._run import Watcher, run
from ._sources import Columns, Source, from_dataset, from_matrices


class SphericalKMeans(_kmeans.SphericalKMeans):
    """Spherical k-means over rows or texts that are on the nodes of a Ray cluster.

    The result is that of `docsphere.SphericalKMeans` on the same rows in one matrix,
    bit by bit. Rows and texts never come to the process that calls `fit`; labels and
    similarities do.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.

    init : {"merge", "k-means++", "plain-k-means++", "random"} or matrix of shape \
            (n_clusters, n_features), default="merge"
        How the initial centroids are chosen, as in `docsphere.SphericalKMeans`.

    effort : {"fast", "default", "best"}, default="default"
        How much time to spend on a greater objective, as in
        `docsphere.SphericalKMeans`.

    n_init : int or None, default=None
        The number of runs with different seeds; the best one is kept. None is 1,
        or 5 with effort "best".

    variation : bool or None, default=None
        Whether single rows move after convergence if the objective gains. None is
        true, except with effort "fast".

    rounds : int or None, default=None
        The number of further runs that perturb the best one. None is 0, or 10 with
        effort "best".

    refine : {"none", "root"}, default="none"
        What follows the loop: nothing, or root centroids.

    max_iter : int, default=100
        The maximum number of iterations per run.

    tol : float, default=1e-4
        A run ends when every centroid moved by a squared distance of less than
        this; with 0 it goes on until no label changes.

    random_state : int, RandomState instance or None, default=None
        The source of random numbers.

    algorithm : str, default="auto"
        The assignment strategy. Affects time and memory, never the result.

    n_jobs : int or None, default=None
        Threads of this process, for `predict`, `score` and `transform`, and for
        adding what workers send.

    verbose : int, default=0
        With 1 or more, show a progress bar.

    callback : callable or None, default=None
        Called with a dict for every event, as in `docsphere.SphericalKMeans`.

    vectorizer : TextVectorizer or None, default=None
        How texts become rows; None is ``TextVectorizer()``. It is not changed:
        the fitted one is `vectorizer_`.

    text_column : str or None, default="text"
        The column of a dataset that holds texts; not used if `indices_column` is
        given.

    indices_column : str or None, default=None
        The column of a dataset that holds a list of column indices per row.

    values_column : str or None, default=None
        The column that holds the values which belong to them.

    n_features : int or None, default=None
        The number of columns of such rows; None is the greatest index plus one.

    num_shards : int or None, default=None
        The number of workers that divide the rows. None is one per node. Never
        changes the result.

    threads_per_shard : int or None, default=None
        Threads, and reserved CPUs, per shard. None is as many as there is room
        for. Never changes the result.

    memory_per_shard : int or None, default=None
        Bytes of memory that Ray reserves per shard.

    restart_timeout : float, default=600.0
        Seconds to wait until a lost worker is started again, data included.

    address : str or None, default="auto"
        The cluster, as in `ray.init`. Not used if this process is connected
        already, as it is if it has a dataset.

    Attributes
    ----------
    vectorizer_ : TextVectorizer
        The fitted vectorizer, if the data was texts:
        ``make_pipeline(model.vectorizer_, model)`` takes new texts.

    labels_, cluster_centers_, similarities_, similarity_, inertia_, n_iter_, \
            converged_, n_empty_clusters_, n_outliers_, trace_
        As in `docsphere.SphericalKMeans`, in the order of the rows.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_kmeans.SphericalKMeans._parameter_constraints,
        "vectorizer": [TextVectorizer, None],
        "text_column": [str, None],
        "indices_column": [str, None],
        "values_column": [str, None],
        "n_features": [int, None],
        "num_shards": [int, None],
        "threads_per_shard": [int, None],
        "memory_per_shard": [int, None],
        "restart_timeout": [float, int],
        "address": [str, None],
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
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], object] | None = None,
        vectorizer: TextVectorizer | None = None,
        text_column: str | None = "text",
        indices_column: str | None = None,
        values_column: str | None = None,
        n_features: int | None = None,
        num_shards: int | None = None,
        threads_per_shard: int | None = None,
        memory_per_shard: int | None = None,
        restart_timeout: float = 600.0,
        address: str | None = "auto",
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            effort=effort,
            n_init=n_init,
            variation=variation,
            rounds=rounds,
            refine=refine,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            algorithm=algorithm,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
        )
        self.vectorizer = vectorizer
        self.text_column = text_column
        self.indices_column = indices_column
        self.values_column = values_column
        self.n_features = n_features
        self.num_shards = num_shards
        self.threads_per_shard = threads_per_shard
        self.memory_per_shard = memory_per_shard
        self.restart_timeout = restart_timeout
        self.address = address

    def fit(self, X: Any, y: object = None, sample_weight: Any = None) -> SphericalKMeans:
        """Find the clusters.

        Parameters
        ----------
        X : ray.data.Dataset, or list of ObjectRef
            A dataset with a column of texts, or with columns of indices and
            values; or references to SciPy matrices of equal width, the rows of
            which follow each other.

        y : Ignored
            There by convention.

        sample_weight : str, list of ObjectRef, or None, default=None
            How often each row counts: the name of a column of the dataset, or
            for each matrix a reference to an array.

        Returns
        -------
        self : SphericalKMeans
            The fitted estimator.
        """
        self.__dict__.pop("_model", None)  # If this fails, the estimator is not fitted.
        self.__dict__.pop("vectorizer_", None)
        self._validate_params()
        with connected(self.address):
            num_shards, n_threads = shards_and_threads(self.num_shards, self.threads_per_shard)
            source = self._source(X, sample_weight, num_shards)
            if source.n_rows < self.n_clusters:
                raise ParameterError(f"n_samples={source.n_rows} must be at least n_clusters={self.n_clusters}")
            job = self._job(source)
            placement = Placement(n_threads, self.memory_per_shard, restart_timeout=self.restart_timeout)
            bar = ProgressBar(self.max_iter) if self.verbose else None
            watchers: list[Watcher] = [] if self.callback is None else [self.callback]
            makers = [MakeShard(n_threads, load=load) for load in source.loaders]
            fitted = run(makers, job, placement, watchers, bar)
            weights = source.weights()
        self._keep(fitted, weights)
        self.n_features_in_ = self._model.n_terms
        if self._model.text is not None:
            self.vectorizer_ = vectorizer_of(self._model.text)
        return self

    def _source(self, X: Any, sample_weight: Any, num_shards: int) -> Source:
        if isinstance(X, (list, tuple)) and X and all(isinstance(part, ray.ObjectRef) for part in X):
            return from_matrices(X, sample_weight, num_shards)
        if hasattr(X, "to_arrow_refs"):
            if not (sample_weight is None or isinstance(sample_weight, str)):
                raise ParameterError("sample_weight must be the name of a column of the dataset")
            columns = Columns(self.text_column, self.indices_column, self.values_column, sample_weight, self.n_features)
            return from_dataset(X, columns, num_shards)
        raise ParameterError(
            f"X must be a ray.data.Dataset or a list of references to matrices, got {type(X).__name__}; "
            "docsphere.SphericalKMeans takes what is in this process"
        )

    def _job(self, source: Source) -> dict[str, Any]:
        """Return what the compiled part is to do."""
        if source.n_features is None and not isinstance(self.init, str):
            raise ParameterError("init must be a name if rows are made of texts")
        text = (self.vectorizer or TextVectorizer())._options() if source.n_features is None else None
        params = self._options(source.n_features or 0, np.float64) | {"n_threads": threads_of(self.n_jobs)}
        return {"text": text, "params": params, "candidates": None, "fine": None, "files": None}
