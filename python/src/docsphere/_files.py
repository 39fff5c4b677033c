"""Model files, shared with the command ``docsphere``."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from . import _docsphere
from ._kmeans import SphericalKMeans
from ._pipeline import fitted_parts
from ._text import TextVectorizer


def save(model: SphericalKMeans | Pipeline, path: str | PathLike[str]) -> None:
    """Write a model to a file that ``docsphere assign`` and `load` read.

    Parameters
    ----------
    model : SphericalKMeans or Pipeline
        A fitted estimator, or a pipeline of a `TextVectorizer` and an estimator.
        The file of a pipeline can be used on texts.

    path : str or path-like
        The file. It is written atomically.
    """
    vectorizer, model = fitted_parts(model)
    compiled = model._model
    if vectorizer is not None:
        compiled.with_text(vectorizer._model).save(path)
        return
    names = getattr(model, "feature_names_in_", None)
    if names is not None and compiled.text is None:
        compiled = compiled.with_term_names([str(name) for name in names])
    compiled.save(path)


def load(path: str | PathLike[str]) -> SphericalKMeans | Pipeline:
    """Read a model from a file of `save` or of ``docsphere cluster``.

    Parameters
    ----------
    path : str or path-like
        The file, or a folder of ``docsphere cluster``.

    Returns
    -------
    model : SphericalKMeans or Pipeline
        A fitted estimator; for a model of texts, a pipeline that takes texts.

    Notes
    -----
    A file holds nothing about single rows: `labels_`, `similarities_`,
    `inertia_`, `n_empty_clusters_`, `n_outliers_` and `trace_` are absent, and
    `keywords`, which needs the labels, refuses such a model.

    The parameters are those of the run that made the model, so that `fit` on the
    same rows finds the same clusters. There are two exceptions. Given centroids
    are not in the file: `init` is then "merge". The numbers of candidates and of
    small clusters, which the command can set, have their default values.
    """
    path = Path(path)
    compiled = _docsphere.Model.load(path / "model.docsphere" if path.is_dir() else path)
    model = _estimator(compiled)
    if compiled.text is None:
        return model
    return Pipeline([("vectorizer", vectorizer_of(compiled.text)), ("kmeans", model)])


def _estimator(compiled: _docsphere.Model) -> SphericalKMeans:
    info: dict[str, Any] = json.loads(compiled.info)
    model = SphericalKMeans(
        n_clusters=compiled.n_clusters,
        init=info["init"] if info["init"] != "given" else "merge",
        n_init=info["n_init"],
        variation=info["variation"],
        rounds=info["rounds"],
        refine=info["refine"],
        max_iter=info["max_iter"],
        tol=info["tol"],
        random_state=info["seed"],
    )
    model._model = compiled
    model.n_features_in_ = compiled.n_terms
    names = compiled.term_names if compiled.text is None else None
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.similarity_ = info["objective"]
    model.n_iter_ = info["n_iter"]
    model.converged_ = info["converged"]
    model._set_centers()
    return model


def vectorizer_of(text: _docsphere.TextModel) -> TextVectorizer:
    """Return the fitted transformer of a model."""
    words, weights = json.loads(text.options)
    bound = {name: next(iter(weights[name].values())) for name in ("min_df", "max_df")}
    stop_words = words["stop_words"]
    vectorizer = TextVectorizer(
        lowercase=words["lowercase"],
        stop_words=None if stop_words == "none" else next(iter(stop_words.values())),
        more_stop_words=words["more_stop_words"] or None,
        ngram_range=(words["ngrams"]["lo"], words["ngrams"]["hi"]),
        max_features=weights["max_terms"],
        sublinear_tf=weights["sublinear_tf"],
        idf=weights["idf"],
        segmentation=words["segmentation"],
        unspaced=words["unspaced"],
        hyphens=words["hyphens"],
        keep_tags=words["keep_tags"],
        stemmer=words["stemmer"],
        language=words["language"],
        min_chars=words["min_chars"],
        keep_urls=words["keep_urls"],
        keep_numbers=words["keep_numbers"],
        **bound,
    )
    vectorizer._model = text
    vectorizer._set_terms()
    return vectorizer
