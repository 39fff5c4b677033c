"""Clusters against known classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _docsphere
from ._errors import ParameterError


class Score(NamedTuple):
    """How well clusters find known classes; see `score`."""

    nmi: float
    """Normalised mutual information, from 0 to 1."""
    ari: float
    """Adjusted Rand index: 1 for the same, about 0 for chance."""
    accuracy: float
    """Share of rows whose cluster stands for their class, one cluster per class, in the best way."""
    purity: float
    """Share of rows that are of the most frequent class of their cluster."""
    n_compared: int
    """The number of rows that have both a cluster and a class."""


def score(labels: ArrayLike, classes: ArrayLike) -> Score:
    """Say how well clusters find known classes.

    Parameters
    ----------
    labels : array-like of int of shape (n_samples,)
        The cluster of each row; -1 for rows without one, which do not count.

    classes : array-like of shape (n_samples,)
        The known class of each row: strings, numbers, or anything that can be
        compared. Rows whose class is None, NaN or an empty string do not count.

    Returns
    -------
    score : Score
        Normalised mutual information, adjusted Rand index, accuracy, purity, and
        the number of rows that count.

    Examples
    --------
    >>> import docsphere
    >>> found = docsphere.score([0, 0, 0, 1, 2], ["cat", "cat", "dog", "dog", "dog"])
    >>> found.accuracy, found.purity
    (0.6, 0.8)
    """
    found = np.asarray(labels)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ParameterError(f"labels must be one int for each row, got {found.dtype} of shape {found.shape}")
    numbers = _numbered(classes)
    if len(numbers) != len(found):
        raise ParameterError(f"classes must be {len(found)}, as many as labels, got {len(numbers)}")
    if len(found) and (found.min() < -1 or found.max() > np.iinfo(np.int32).max):
        raise ParameterError(f"labels must be from -1 to 2147483647, got {found.min()} to {found.max()}")
    return Score(*_docsphere.score(np.ascontiguousarray(found, dtype=np.int32), numbers))


def _numbered(classes: ArrayLike) -> NDArray[np.int32]:
    """Number the classes in the order in which they occur; -1 where there is none."""
    numbers: dict[Any, int] = {}
    found = []
    for value in np.asarray(classes, dtype=object).ravel():
        missing = value is None or value == "" or value != value
        found.append(-1 if missing else numbers.setdefault(value, len(numbers)))
    return np.asarray(found, dtype=np.int32)
