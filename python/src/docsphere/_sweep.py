"""Several numbers of clusters beside each other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _docsphere
from ._checks import n_threads, natural, positive
from ._errors import ParameterError
from ._kmeans import SphericalKMeans
from ._matrix import csr_arrays


@dataclass(frozen=True)
class SweepResult:
    """Several numbers of clusters beside each other, as `sweep` returns them.

    Attributes
    ----------
    table : list of dict
        For each number of clusters: ``n_clusters``, ``objective``,
        ``mean_similarity``, ``silhouette``, ``simplified_silhouette``, ``margin``,
        and the agreement of clusterings of random ``halves`` and from other
        ``seeds``: dicts with ``ari``, ``ari_least``, ``ari_greatest`` and ``nmi``, or
        None. ``pandas.json_normalize(result.table)`` makes a table of it.

    estimators : dict of int to SphericalKMeans
        The fitted estimators, by number of clusters.

    recommendation : dict or None
        ``n_clusters``, the range ``from`` and ``to`` of numbers that may be as good, and
        the numbers with the greatest margin and stability, ``by_margin`` and
        ``by_stability``. It is a hint, often off by a factor of two to four: look at
        the clusters. None if fewer than two numbers can be compared.
    """

    table: list[dict[str, Any]]
    estimators: dict[int, SphericalKMeans] = field(repr=False)
    recommendation: dict[str, Any] | None

    @property
    def labels(self) -> dict[int, NDArray[np.int32]]:
        """The cluster of each row, by number of clusters."""
        return {n_clusters: model.labels_ for n_clusters, model in self.estimators.items()}


def sweep(
    X: Any,
    n_clusters: Iterable[int] | str,
    *,
    stability: int = 2,
    stability_sample: int = 20_000,
    effort: str = "default",
    variation: bool | None = None,
    rounds: int | None = None,
    refine: str = "none",
    max_iter: int = 100,
    tol: float = 1e-4,
    random_state: int | np.random.RandomState | None = None,
    algorithm: str = "auto",
    device: str = "cpu",
    n_jobs: int | None = None,
) -> SweepResult:
    """Compare several numbers of clusters, like the command ``docsphere sweep``.

    One tree of small clusters, cut at every number, gives all starts. The numbers
    are those of the command for the same rows and seed.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    n_clusters : iterable of int, or str
        The numbers of clusters; or a range in geometric steps, such as
        ``"20..2000"`` for about ten numbers, ``"20..2000:15"`` for about fifteen.

    stability : int, default=2
        How often stability is measured, by pairs of random halves and other seeds;
        0 for not at all. Each costs about two more fits of the sample, for every
        number of clusters.

    stability_sample : int, default=20000
        The number of rows on which stability is measured; at least ten for each
        cluster of the greatest number.

    effort, variation, rounds, refine, max_iter, tol, random_state, algorithm, device, n_jobs
        As of `SphericalKMeans`. There is one run per number of clusters, whatever
        the effort.

    Returns
    -------
    result : SweepResult
        The measures, the fitted estimators and a recommendation.

    Examples
    --------
    >>> import docsphere
    >>> texts = [f"{subject} {word}" for subject in ("cat", "stock", "rain") for word in "abcdefghijkl"]
    >>> X = docsphere.TextVectorizer(min_chars=1).fit_transform(texts)
    >>> result = docsphere.sweep(X, [2, 3, 4], random_state=0)
    >>> [row["n_clusters"] for row in result.table]
    [2, 3, 4]
    >>> result.labels[3].shape
    (36,)
    """
    if isinstance(n_clusters, str):
        grid = n_clusters
    else:
        numbers = list(n_clusters)
        if not numbers or not all(isinstance(number, Integral) and not isinstance(number, bool) for number in numbers):
            raise ParameterError(f"n_clusters must be ints, at least one, or a str such as '20..2000', got {numbers!r}")
        grid = ",".join(str(int(number)) for number in numbers)
    base = SphericalKMeans(
        n_clusters=2,
        effort=effort,
        variation=variation,
        rounds=rounds,
        refine=refine,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        algorithm=algorithm,
        device=device,
        n_jobs=n_jobs,
    )
    base._validate_params()
    X = base._validated(X, reset=True)
    options = base._options(X.shape[1], X.dtype) | {"n_threads": n_threads(n_jobs)}
    steps, advice = _docsphere.sweep(
        csr_arrays(X),
        options,
        grid,
        natural("stability", stability),
        positive("stability_sample", stability_sample),
    )
    table, estimators = [], {}
    for fitted, measures in steps:
        row = json.loads(measures)
        model = SphericalKMeans(**(base.get_params() | {"n_clusters": row["n_clusters"]}))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(base, name):
                setattr(model, name, getattr(base, name))
        model._keep(fitted, None)
        table.append(row)
        estimators[row["n_clusters"]] = model
    return SweepResult(table, estimators, None if advice is None else json.loads(advice))
