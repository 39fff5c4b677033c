"""The estimator by itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import docsphere
from conftest import random_rows
from docsphere import SphericalKMeans


def fitted(X, **options):
    return SphericalKMeans(**{"n_clusters": 10, "random_state": 3, **options}).fit(X)


@pytest.mark.parametrize(
    "container",
    [
        sparse.csr_matrix,
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        sparse.coo_array,
        lambda X: X.toarray(),
        lambda X: X.toarray(order="F"),
        lambda X: X.toarray().tolist(),
    ],
)
def test_every_container_gives_the_same_result(rows, container):
    expected, given = fitted(rows), fitted(container(rows))
    assert_array_equal(given.labels_, expected.labels_)
    assert (given.cluster_centers_ != expected.cluster_centers_).nnz == 0
    assert given.similarity_ == expected.similarity_


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("integers", [np.int32, np.int64])
def test_every_type_of_values_and_indices_gives_the_same_result(rows, values, integers):
    X = rows.astype(values)
    X.indices, X.indptr = X.indices.astype(integers), X.indptr.astype(integers)
    assert X.indices.dtype == integers
    assert_array_equal(fitted(X).labels_, fitted(rows).labels_)


@pytest.mark.parametrize("algorithm", docsphere._docsphere.algorithms())
@pytest.mark.parametrize("n_jobs", [1, 2, 7, -1, None])
def test_algorithm_and_threads_change_no_bit(rows, algorithm, n_jobs):
    expected = fitted(rows)
    given = fitted(rows, algorithm=algorithm, n_jobs=n_jobs)
    assert_array_equal(given.labels_, expected.labels_)
    assert_array_equal(given.cluster_centers_.data, expected.cluster_centers_.data)
    assert given.similarity_ == expected.similarity_
    assert given.n_iter_ == expected.n_iter_


def test_attributes_belong_together(rows):
    model = fitted(rows)
    centers = model.cluster_centers_
    assert sparse.isspmatrix_csr(centers) and centers.shape == (10, 200) and centers.dtype == np.float32
    assert_allclose(np.sqrt(np.asarray(centers.multiply(centers).sum(axis=1))), 1, atol=1e-6)
    cosines = (rows @ centers.T).toarray()
    assert_array_equal(model.labels_, cosines.argmax(axis=1))
    assert_allclose(model.similarities_, cosines.max(axis=1), rtol=1e-5)
    assert_allclose(model.similarity_, model.similarities_.sum())
    distances = rows.toarray() - centers.toarray()[model.labels_]
    assert_allclose(model.inertia_, (distances**2).sum(), rtol=1e-4)
    assert model.labels_.dtype == np.int32
    assert model.converged_ and model.n_iter_ == len(model.trace_["iterations"]) - 1
    assert model.trace_["iterations"][-1]["objective"] == model.similarity_
    assert model.n_features_in_ == 200 and model.n_empty_clusters_ == 0


def test_new_rows(rows):
    model = fitted(rows)
    assert_array_equal(model.predict(rows), model.labels_)
    assert_array_equal(SphericalKMeans(n_clusters=10, random_state=3).fit_predict(rows), model.labels_)
    similarities = model.transform(rows)
    assert similarities.dtype == np.float32 and model.transform(rows.astype(float)).dtype == np.float64
    assert_allclose(similarities, (rows @ model.cluster_centers_.T).toarray(), atol=1e-6)
    assert_allclose(model.score(rows), model.similarity_)
    assert_allclose(model.score(rows, sample_weight=np.full(600, 2.0)), 2 * model.similarity_)


def test_the_nearest_clusters_alone_are_sparse(rows):
    model = fitted(rows)
    nearest, every = model.transform(rows, top_m=3), model.transform(rows)
    assert sparse.isspmatrix_csr(nearest) and nearest.shape == (600, 10)
    assert_array_equal(np.diff(nearest.indptr), 3)
    third = np.sort(every, axis=1)[:, -3]
    assert_allclose(nearest.toarray(), np.where(every >= third[:, None], every, 0), atol=1e-7)
    assert_array_equal(np.asarray(nearest.argmax(axis=1)).ravel(), model.labels_)
    with pytest.raises(docsphere.ParameterError, match="m must be at least 1, got 0"):
        model.transform(rows, top_m=0)


def test_integer_weights_are_repeated_rows(rows):
    weights = np.arange(600) % 3
    repeated = rows[np.repeat(np.arange(600), weights)]
    given = rows[::60]
    weighted = SphericalKMeans(10, init=given).fit(rows, sample_weight=weights)
    plain = SphericalKMeans(10, init=given).fit(repeated)
    assert_allclose(weighted.cluster_centers_.toarray(), plain.cluster_centers_.toarray(), atol=1e-6)
    assert_allclose(weighted.similarity_, plain.similarity_)
    assert_allclose(weighted.inertia_, plain.inertia_)
    assert_array_equal(np.repeat(weighted.labels_, weights), plain.labels_)


def test_rows_without_entries_belong_nowhere(rows):
    X = sparse.vstack([rows, sparse.csr_matrix((2, 200), dtype=np.float32)]).tocsr()
    model = fitted(X)
    assert_array_equal(model.labels_[-2:], -1)
    assert_array_equal(model.similarities_[-2:], 0)
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.inertia_, fitted(rows).inertia_)
    assert_array_equal(model.transform(X)[-2:], 0)


def test_rows_that_are_not_canonical(rows):
    """Unsorted columns, repeated columns, explicit zeros, lengths other than one."""
    offsets, indices, values = rows.indptr, rows.indices.copy(), rows.data.copy()
    for start, end in itertools.pairwise(offsets):
        indices[start:end], values[start:end] = indices[start:end][::-1], values[start:end][::-1]
    backwards = sparse.csr_matrix((values * 7, indices, offsets), shape=rows.shape)
    assert not backwards.has_sorted_indices
    given = fitted(backwards)
    assert_array_equal(given.labels_, fitted(rows).labels_)
    assert not backwards.has_sorted_indices, "the caller's matrix is as it was"


def test_more_runs_never_end_worse(rows):
    objectives = [fitted(rows, n_init=n, n_clusters=25).similarity_ for n in (1, 4, 8)]
    assert objectives == sorted(objectives)
    assert len(fitted(rows, n_init=4).trace_["runs"]) == 4


@pytest.mark.parametrize("init", ["k-means++", "greedy-k-means++", "random"])
def test_every_seeding_is_repeatable(rows, init):
    first, second = fitted(rows, init=init), fitted(rows, init=init)
    assert_array_equal(first.labels_, second.labels_)
    assert (fitted(rows, init=init, random_state=4).labels_ != first.labels_).any()


def test_a_random_state_moves_on(rows):
    state = np.random.RandomState(0)
    first, second = (fitted(rows, random_state=state, n_clusters=25).labels_ for _ in range(2))
    assert (first != second).any()


def test_given_centroids(rows):
    for init in (rows[:10], rows[:10].toarray(), rows[:10].toarray().tolist(), sparse.csc_array(rows[:10])):
        assert_array_equal(fitted(rows, init=init).labels_, fitted(rows, init=rows[:10]).labels_)
    with pytest.raises(ValueError, match=r"init must be a matrix of shape \(10, 200\), got shape \(9, 200\)"):
        fitted(rows, init=rows[:9])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "'n_clusters' parameter of SphericalKMeans must be an int in the range"),
        ({"n_clusters": 2.5}, "'n_clusters' parameter"),
        ({"n_init": 0}, "'n_init' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"tol": -1e-3}, "'tol' parameter"),
        ({"init": "kmeans"}, "'init' parameter of SphericalKMeans must be a str among"),
        ({"algorithm": "elkan"}, "'algorithm' parameter of SphericalKMeans must be a str among"),
        ({"random_state": "zero"}, "'random_state' parameter"),
        ({"n_clusters": 601}, "n_samples=600 must be at least n_clusters=601"),
    ],
)
def test_wrong_options_are_refused_with_their_names(rows, options, message):
    with pytest.raises(ValueError, match=message):
        fitted(rows, **options)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(599), r"sample_weight.shape == \(599,\)"),
        (np.full(600, np.nan), "NaN"),
        (-np.ones(600), "row 0: the row weight is -1"),
        (np.zeros(600), "weight"),
    ],
)
def test_wrong_weights_are_refused(rows, weights, message):
    with pytest.raises(ValueError, match=message):
        SphericalKMeans(3).fit(rows, sample_weight=weights)


def test_what_no_matrix_may_hold_is_refused(rows):
    broken = rows.copy()
    broken.data[5] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fitted(broken)
    huge = rows.astype(np.float64)
    huge.data[5] = 1e300
    with pytest.raises(docsphere.MatrixError, match="row 0"):
        fitted(huge)
    with pytest.raises(ValueError, match="200 features"):
        fitted(rows).predict(rows[:, :100])


def test_negative_values(rows):
    X = rows.copy()
    X.data[::3] *= -1
    expected = fitted(X, algorithm="baseline")
    assert_array_equal(fitted(X).labels_, expected.labels_)
    assert expected.transform(X).min() < 0


def test_a_callback_hears_of_everything_and_may_stop(rows):
    events = []
    model = fitted(rows, n_clusters=25, tol=0, callback=events.append)
    kinds = [event["event"] for event in events]
    assert kinds[:2] == ["run", "seeding"] and set(kinds[1 : -model.n_iter_ - 1]) == {"seeding"}
    assert kinds[-model.n_iter_ - 1 :] == ["iteration"] * (model.n_iter_ + 1)
    assert events[-1]["objective"] == model.similarity_
    stopped = fitted(rows, n_clusters=25, tol=0, callback=lambda event: event.get("iteration") == 1)
    assert stopped.n_iter_ == 1 and not stopped.converged_
    assert_array_equal(stopped.labels_, fitted(rows, n_clusters=25, tol=0, max_iter=1).labels_)
    with pytest.raises(docsphere.StoppedError, match="during seeding"):
        fitted(rows, callback=lambda event: True)


def test_an_exception_in_a_callback_ends_the_run(rows):
    def fail(event):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fitted(rows, callback=fail)


def test_a_progress_bar_is_shown_when_asked_for(rows, capsys):
    fitted(rows)
    assert capsys.readouterr().err == ""
    fitted(rows, verbose=1, n_init=2)
    shown = capsys.readouterr().err
    assert "run 2 of 2: iterations" in shown and "objective=" in shown


def test_k_of_one_and_of_all(rows):
    assert set(fitted(rows, n_clusters=1).labels_) == {0}
    distinct = random_rows(40, 60, seed=5)
    assert_allclose(fitted(distinct, n_clusters=40).inertia_, 0, atol=1e-4)
    twice = sparse.vstack([distinct, distinct]).tocsr()
    model = fitted(twice, n_clusters=80)
    assert model.n_empty_clusters_ == 40
