"""Silhouettes against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import metrics

from docsphere import MatrixError, ParameterError, silhouette_samples, silhouette_score


@pytest.fixture(scope="module")
def rows() -> sparse.csr_matrix:
    return sparse.random(300, 60, density=0.1, format="csr", random_state=0, dtype=np.float32) + sparse.csr_matrix(
        np.eye(300, 60, dtype=np.float32)
    )


@pytest.mark.parametrize("n_clusters", [2, 7, 150])
def test_silhouettes_are_those_of_scikit_learn(rows: sparse.csr_matrix, n_clusters: int) -> None:
    rows = rows[np.diff(rows.indptr) > 0]
    labels = np.arange(rows.shape[0]) * 13 % n_clusters
    expected = metrics.silhouette_samples(rows.toarray().astype(np.float64), labels, metric="cosine")
    for n_jobs in (1, 2):
        assert_allclose(silhouette_samples(rows, labels, n_jobs=n_jobs), expected, atol=1e-5)
    assert_allclose(silhouette_score(rows, labels), expected.mean(), atol=1e-6)
    assert_allclose(silhouette_score(rows.toarray(), list(labels)), expected.mean(), atol=1e-6)


def test_rows_without_a_cluster_do_not_count(rows: sparse.csr_matrix) -> None:
    labels = np.arange(300) % 3
    labels[5:20] = -1
    values = silhouette_samples(rows, labels)
    assert_array_equal(np.isnan(values), labels == -1)
    kept = labels >= 0
    assert_allclose(values[kept], silhouette_samples(rows[kept], labels[kept]))
    assert_allclose(silhouette_score(rows, labels), values[kept].mean())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(299, dtype=int), "labels must be 300 ints, one for each row, got int64 of shape"),
        (np.zeros(300), "labels must be 300 ints, one for each row, got float64"),
        (np.full(300, -2), "labels must be from -1 to 16777215, got -2 to -2"),
    ],
)
def test_labels_must_fit(rows: sparse.csr_matrix, labels: np.ndarray, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        silhouette_samples(rows, labels)


def test_one_cluster_has_no_silhouette(rows: sparse.csr_matrix) -> None:
    with pytest.raises((ParameterError, MatrixError), match="at least 2 for a silhouette"):
        silhouette_score(rows, np.zeros(300, dtype=int))
