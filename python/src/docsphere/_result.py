"""Results as files: the report page, and folders as the command ``docsphere`` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from . import _docsphere
from ._checks import n_threads, natural
from ._errors import FileError, FormatError, ParameterError
from ._files import load
from ._kmeans import SphericalKMeans
from ._matrix import csr_arrays
from ._pipeline import fitted_parts
from ._report import Report
from ._summary import checked_labels, feature_names_of
from ._text import texts_of

_UNSHOWN = ("callback", "n_jobs", "verbose")


def report(
    model: SphericalKMeans | Pipeline,
    X: Any,
    texts: Iterable[str] | None = None,
    path: str | PathLike[str] | None = "report.html",
    *,
    ids: Iterable[object] | None = None,
    feature_names: ArrayLike | None = None,
    title: str | None = None,
    n_keywords: int = 10,
    n_representatives: int = 3,
    n_least_typical: int = 3,
    max_chars: int = 400,
    max_bytes: int = 10_000_000,
) -> Report:
    """Write a page that shows the clusters: one self-contained HTML file. A notebook shows it.

    It is the page that ``docsphere cluster`` writes: a map of the clusters, a list to search and
    sort, groups of similar clusters, and for each cluster its keywords and documents.

    Parameters
    ----------
    model : SphericalKMeans or Pipeline
        A fitted estimator, or a pipeline of a `TextVectorizer` and an estimator.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of `fit`, or others; texts for a pipeline.

    texts : iterable of str or None, default=None
        The text of each row, to be shown. A pipeline shows its texts by default.

    path : str, path-like or None, default="report.html"
        The file. It is written atomically and replaces an existing one. None writes
        none.

    ids : iterable or None, default=None
        The id of each row; by default its number, counted from 1.

    feature_names : array-like of str or None, default=None
        The names of the columns; by default those that the model knows. Columns
        without names are shown as numbers.

    title : str or None, default=None
        The title of the page.

    n_keywords : int, default=10
        Number of keywords per cluster.

    n_representatives : int, default=3
        Number of documents per cluster that are typical of it.

    n_least_typical : int, default=3
        Number of documents per cluster that are least typical of it.

    max_chars : int, default=400
        Number of characters of each text that are shown.

    max_bytes : int, default=10000000
        Fewer characters and fewer texts as points are shown if the page would become
        larger than this.

    Returns
    -------
    report : Report
        The page. A notebook shows it if it is the last value of a cell.

    See Also
    --------
    write_result : All files of a result, the page among them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from docsphere import SphericalKMeans, TextVectorizer, report
    >>> texts = ["cats purr", "cats, more cats", "cats sleep", "rates rise", "rates, rates", "rates fall"]
    >>> vectorizer = TextVectorizer()
    >>> X = vectorizer.fit_transform(texts)
    >>> model = SphericalKMeans(n_clusters=2, random_state=0).fit(X)
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> shown = report(model, X, texts, page, feature_names=vectorizer.get_feature_names_out())
    >>> page.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    limits = {"n_keywords": n_keywords, "n_representatives": n_representatives, "n_least_typical": n_least_typical}
    limits |= {"max_chars": max_chars, "max_bytes": max_bytes}
    path = None if path is None else Path(path)
    given = _given(model, X, texts, ids, feature_names, title, limits)
    return Report(_docsphere.write_report(*given.arguments(path)), path)


def write_result(
    model: SphericalKMeans | Pipeline,
    X: Any,
    texts: Iterable[str] | None = None,
    path: str | PathLike[str] = "out",
    *,
    ids: Iterable[object] | None = None,
    feature_names: ArrayLike | None = None,
    title: str | None = None,
    n_keywords: int = 10,
    n_representatives: int = 3,
    n_least_typical: int = 3,
    max_chars: int = 400,
    max_bytes: int = 10_000_000,
) -> None:
    """Write a folder with everything about the clusters, as ``docsphere cluster`` does.

    The commands ``docsphere report``, ``inspect``, ``merge`` and, for a pipeline,
    ``assign``, ``index`` and ``serve`` take it, and so does `load_result`.

    Parameters
    ----------
    model : SphericalKMeans or Pipeline
        A fitted estimator, or a pipeline of a `TextVectorizer` and an estimator.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of `fit`, or others; texts for a pipeline.

    texts : iterable of str or None, default=None
        The text of each row, to be shown. A pipeline shows its texts by default.

    path : str or path-like, default="out"
        The folder. It appears whole or not at all. An existing folder must be empty:
        nothing is replaced.

    ids : iterable or None, default=None
        The id of each row; by default its number, counted from 1.

    feature_names : array-like of str or None, default=None
        The names of the columns; by default those that the model knows. Columns
        without names are shown as numbers.

    title : str or None, default=None
        The title of the page.

    n_keywords : int, default=10
        Number of keywords per cluster.

    n_representatives : int, default=3
        Number of documents per cluster that are typical of it.

    n_least_typical : int, default=3
        Number of documents per cluster that are least typical of it.

    max_chars : int, default=400
        Number of characters of each text that the page shows.

    max_bytes : int, default=10000000
        The page shows fewer characters and fewer texts as points if it would become
        larger than this.

    See Also
    --------
    load_result : Read such a folder.
    report : Only the page.

    Notes
    -----
    ``trace.json`` has the seconds of `fit` and of this function; those of reading
    and vectorizing are 0, because they happen elsewhere.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from docsphere import SphericalKMeans, TextVectorizer, load_result, write_result
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["cats purr", "cats, more cats", "cats sleep", "rates rise", "rates, rates", "rates fall"]
    >>> pipeline = make_pipeline(TextVectorizer(), SphericalKMeans(n_clusters=2, random_state=0)).fit(texts)
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "out"
    >>> write_result(pipeline, texts, path=folder)
    >>> load_result(folder).clusters["n_documents"]
    6
    """
    limits = {"n_keywords": n_keywords, "n_representatives": n_representatives, "n_least_typical": n_least_typical}
    limits |= {"max_chars": max_chars, "max_bytes": max_bytes}
    _docsphere.write_result(*_given(model, X, texts, ids, feature_names, title, limits).arguments(path))


@dataclass(frozen=True)
class Result:
    """A result that was read from a folder.

    Attributes
    ----------
    model : SphericalKMeans or Pipeline
        The model, as `load` returns it.

    ids : list of str
        The id of each document.

    labels : ndarray of int32
        The cluster of each document; -1 for none.

    similarities : ndarray of float64
        The similarity of each document to its centroid, with six decimals.

    clusters : dict
        The content of ``clusters.json``: totals, and a list of ``clusters`` with
        ``name``, ``size``, ``cohesion``, ``heap``, ``keywords``,
        ``representatives``, ``least_typical``, ``histogram`` and ``neighbours``.

    groups : dict or None
        The content of ``groups.json``: groups of similar clusters, and the merge
        tree. None if there are too many clusters for one.

    trace : dict
        The content of ``trace.json``: the record of the run.

    path : Path
        The folder.
    """

    model: SphericalKMeans | Pipeline
    ids: list[str]
    labels: NDArray[np.int32]
    similarities: NDArray[np.float64]
    clusters: dict[str, Any]
    groups: dict[str, Any] | None
    trace: dict[str, Any]
    path: Path

    def show(self, *, height: int = 760, max_chars: int = 400, max_bytes: int = 10_000_000) -> Report:
        """Return the report page of the result, which a notebook shows. No file is written.

        Parameters
        ----------
        height : int, default=760
            The height of the frame in a notebook, in pixels.

        max_chars : int, default=400
            Number of characters of each text that are shown.

        max_bytes : int, default=10000000
            Fewer characters and fewer texts as points are shown if the page would
            become larger than this.

        Returns
        -------
        report : Report
            The page, made from the files of the folder.
        """
        limits = natural("max_chars", max_chars), natural("max_bytes", max_bytes)
        return Report(_docsphere.render_result(self.path, *limits), None, natural("height", height))


def load_result(path: str | PathLike[str]) -> Result:
    """Read a folder of `write_result` or of ``docsphere cluster``.

    Parameters
    ----------
    path : str or path-like
        The folder. Assignments may be in CSV, JSON Lines or Parquet, in one file
        or in parts.

    Returns
    -------
    result : Result
        Documents and their clusters, keywords, groups, and the model.

    See Also
    --------
    load : Only the model.
    """
    path = Path(path)
    ids, labels, similarities, clusters, groups = _docsphere.read_result(path)
    return Result(
        model=load(path),
        ids=ids,
        labels=labels,
        similarities=similarities,
        clusters=json.loads(clusters),
        groups=None if groups is None else json.loads(groups),
        trace=_trace(path / "trace.json"),
        path=path,
    )


def _trace(path: Path) -> dict[str, Any]:
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror}") from None
    except ValueError as error:
        raise FormatError(f"{path}: is not the trace of a run: {error}") from None
    if not isinstance(trace, dict):
        raise FormatError(f"{path}: is not the trace of a run")
    return trace


@dataclass(frozen=True)
class _Given:
    """A clustering, with the data that is written."""

    model: _docsphere.Model
    matrix: Any
    values: dict[str, Any]
    threads: int

    def arguments(self, path: str | PathLike[str] | None) -> tuple[Any, ...]:
        return self.model, self.matrix, self.values, path, self.threads


def _given(
    model: SphericalKMeans | Pipeline,
    X: Any,
    texts: Iterable[str] | None,
    ids: Iterable[object] | None,
    feature_names: ArrayLike | None,
    title: str | None,
    limits: dict[str, Any],
) -> _Given:
    limits = {name: natural(name, value) for name, value in limits.items()}
    vectorizer, model = fitted_parts(model)
    threads = n_threads(model.n_jobs)
    given_texts = None if texts is None else texts_of("texts", texts)
    compiled = model._model
    if vectorizer is not None:
        X = texts_of("X", X)
        given_texts = X if given_texts is None else given_texts
        X = vectorizer.transform(X)
        compiled = compiled.with_text(vectorizer._model)
    elif compiled.text is None:
        names = feature_names_of(model, feature_names, required=False)
        if names is not None:
            compiled = compiled.with_term_names([str(name) for name in names])
    X = model._validated(X, reset=False)
    matrix, n_rows = csr_arrays(X), X.shape[0]
    given_ids = [str(number) for number in range(1, n_rows + 1)] if ids is None else [str(id) for id in ids]
    for name, listed in (("texts", given_texts), ("ids", given_ids)):
        if listed is not None and len(listed) != n_rows:
            raise ParameterError(f"{name} must be {n_rows}, one for each row of X, got {len(listed)}")
    labels, similarities = compiled.predict(matrix, threads)
    objective = float(similarities.sum())
    # The rows of fit have its labels: where two centroids tie, it has kept the older one.
    if np.array_equal(similarities, getattr(model, "similarities_", ())):
        labels, objective = checked_labels(model), model.similarity_
    values = {
        "labels": labels,
        "similarities": similarities,
        "objective": objective,
        "ids": given_ids,
        "texts": given_texts,
        "settings": settings_of(title, vectorizer, model),
        "algorithm": model.algorithm,
        "trace": json.dumps(model.trace_) if hasattr(model, "trace_") else None,
    }
    return _Given(compiled, matrix, values | limits, threads)


def settings_of(title: str | None, *steps: Any) -> list[tuple[str, list[str]]]:
    """Return what the page shows as settings: the parameters that are set."""
    settings = [] if title is None else [("INPUT", [title])]
    for step in steps:
        if step is not None:
            for name, value in step.get_params(deep=False).items():
                if name not in _UNSHOWN and value is not None and value is not False:
                    settings.append((name, _shown(value)))
    return settings


def _shown(value: Any) -> list[str]:
    if value is True:
        return []
    if hasattr(value, "shape"):
        return [f"a matrix of {value.shape[0]} rows"]
    if isinstance(value, (set, frozenset, list)):
        return sorted(str(item) for item in value)
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return [value if isinstance(value, str) else repr(value)]
