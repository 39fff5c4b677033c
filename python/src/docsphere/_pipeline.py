"""Pipelines from texts to clusters."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._errors import ParameterError
from ._kmeans import SphericalKMeans
from ._text import TextVectorizer


def fitted_parts(model: Any) -> tuple[TextVectorizer | None, SphericalKMeans]:
    """Return the vectorizer, if there is one, and the estimator; both are fitted."""
    vectorizer = None
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        if [type(step) for step in steps] != [TextVectorizer, SphericalKMeans]:
            raise ParameterError(
                "a pipeline must consist of a TextVectorizer and a SphericalKMeans, got "
                + ", ".join(type(step).__name__ for step in steps)
            )
        vectorizer, model = steps
        check_is_fitted(vectorizer)
    if not isinstance(model, SphericalKMeans):
        raise ParameterError(f"model must be a SphericalKMeans or a Pipeline, got {type(model).__name__}")
    check_is_fitted(model)
    return vectorizer, model
