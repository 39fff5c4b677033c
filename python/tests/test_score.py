"""Scores against scikit-learn and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

from docsphere import ParameterError, score


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 6, 400)
    labels = np.where(rng.random(400) < 0.6, classes, rng.integers(0, 9, 400))
    found = score(labels, [f"class {number}" for number in classes])
    table = metrics.cluster.contingency_matrix(labels, classes)
    rows, columns = linear_sum_assignment(-table)
    assert_allclose(found.nmi, metrics.normalized_mutual_info_score(classes, labels))
    assert_allclose(found.ari, metrics.adjusted_rand_score(classes, labels))
    assert_allclose(found.accuracy, table[rows, columns].sum() / 400)
    assert_allclose(found.purity, table.max(axis=1).sum() / 400)
    assert found.n_compared == 400


def test_rows_without_a_class_or_cluster_do_not_count() -> None:
    classes = ["a", "a", "b", None, "", float("nan"), "b"]
    assert score([0, 0, 1, 0, 0, 0, -1], classes) == (1.0, 1.0, 1.0, 1.0, 3)
    assert score([0, 1], np.array([1.5, np.nan])).n_compared == 1


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([0.5], ["a"], "labels must be one int for each row, got float64 of shape"),
        ([0, 1], ["a"], "classes must be 2, as many as labels, got 1"),
        ([-2], ["a"], "labels must be from -1 to 2147483647, got -2 to -2"),
    ],
)
def test_bad_input_is_refused(labels: list[float], classes: list[str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        score(labels, classes)
