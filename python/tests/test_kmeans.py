"""The estimator by itself."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

import docsphere
from conftest import random_rows
from docsphere import SphericalKMeans
from docsphere._devices import prepare
from docsphere._progress import ProgressBar


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
    for top_m in (0, -1, 1.5, "3"):
        with pytest.raises(docsphere.ParameterError, match=r"^top_m must be an int of at least 1, got "):
            model.transform(rows, top_m=top_m)


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
    """Unsorted columns, lengths other than one, repeated columns, explicit zeros."""
    offsets, indices, values = rows.indptr, rows.indices.copy(), rows.data.copy()
    for start, end in itertools.pairwise(offsets):
        indices[start:end], values[start:end] = indices[start:end][::-1], values[start:end][::-1]
    backwards = sparse.csr_matrix((values * 7, indices, offsets), shape=rows.shape)
    assert not backwards.has_sorted_indices
    given = fitted(backwards)
    assert_array_equal(given.labels_, fitted(rows).labels_)
    assert not backwards.has_sorted_indices, "the caller's matrix is as it was"
    # Every entry as two halves, with a zero between them.
    indices = np.repeat(rows.indices, 3)
    values = (rows.data[:, None] * np.array([0.5, 0, 0.5], dtype=np.float32)).ravel()
    indices[1::3] = (indices[1::3] + 1) % 200
    repeated = sparse.csr_matrix((values, indices, rows.indptr * 3), shape=rows.shape)
    given = fitted(repeated)
    assert_array_equal(given.labels_, fitted(rows).labels_)
    assert given.similarity_ == fitted(rows).similarity_
    assert_array_equal(given.predict(repeated), given.labels_)
    assert repeated.nnz == 3 * rows.nnz, "the caller's matrix is as it was"


@pytest.mark.parametrize("container", [sparse.csr_matrix, lambda X: X.toarray()])
def test_rows_of_any_size_have_a_direction(rows, container):
    """float64 has room for what float32 has not."""
    scales = np.array([1.0, 2.0**-200, 2.0**200, 2.0**-1000])[np.arange(600) % 4]
    scaled = container(sparse.csr_matrix(sparse.diags(scales) @ rows.astype(np.float64)))
    expected, given = fitted(rows), fitted(scaled)
    assert_array_equal(given.labels_, expected.labels_)
    assert_allclose(given.similarities_, expected.similarities_, rtol=1e-6)
    assert_array_equal(expected.predict(scaled), expected.labels_)


def test_more_runs_never_end_worse(rows):
    objectives = [fitted(rows, n_init=n, n_clusters=25).similarity_ for n in (1, 4, 8)]
    assert objectives == sorted(objectives)
    assert len(fitted(rows, n_init=4).trace_["runs"]) == 4


@pytest.mark.parametrize("init", ["merge", "plain-k-means++", "k-means++", "random"])
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
    for container in (sparse.csr_matrix, np.asarray):
        broken = rows[:10].toarray()
        broken[3, 3] = np.nan
        with pytest.raises(ValueError, match="Input init contains NaN"):
            fitted(rows, init=container(broken))


def test_without_a_gpu_auto_takes_the_cpu_and_cuda_says_what_is_missing(rows):
    events = []
    given = fitted(rows, device="auto", callback=events.append)
    assert_array_equal(given.labels_, fitted(rows).labels_)
    left = [event["error"] for event in events if event["event"] == "device_left"]
    if not left:
        pytest.skip("this machine has a GPU: what is said without one is NOT tested")
    assert left[0].startswith("device cuda: ")
    with pytest.raises(docsphere.DocsphereError, match=f"^{re.escape(left[0])}$"):
        fitted(rows, device="cuda")


def test_the_packaged_compiler_of_kernels_is_found_by_its_name():
    prepare("cuda")
    assert ctypes.CDLL("libnvrtc.so.13").nvrtcVersion


@pytest.mark.parametrize("column", [list, np.array, lambda texts: np.array(texts, dtype=object)[:, None]])
def test_texts_are_sent_to_the_vectorizer(column):
    with pytest.raises(docsphere.ParameterError, match="X must be a matrix of numbers, got texts; TextVectorizer"):
        SphericalKMeans(2).fit(column(["cats purr", "dogs bark"]))


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
        ({"device": "gpu"}, "'device' parameter of SphericalKMeans must be a str among"),
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


def test_weights_of_a_score_are_not_negative(rows):
    with pytest.raises(docsphere.ParameterError, match="sample_weight must not be negative, got -1"):
        fitted(rows).score(rows, sample_weight=-np.ones(600))


def test_weights_may_be_the_third_argument(rows):
    weights = np.arange(600) % 3
    expected = SphericalKMeans(10, random_state=3).fit(rows, sample_weight=weights).labels_
    assert_array_equal(SphericalKMeans(10, random_state=3).fit_predict(rows, None, weights), expected)


@pytest.mark.parametrize("n_jobs", [0, 5000, 1.5])
def test_every_method_checks_the_number_of_threads(rows, n_jobs):
    model = fitted(rows).set_params(n_jobs=n_jobs)
    names = [str(column) for column in range(200)]
    for ask in (
        model.predict,
        model.transform,
        model.score,
        lambda X: model.transform(X, top_m=2),
        lambda X: docsphere.representatives(model, X),
        lambda X: docsphere.keywords(model, names),
        model.fit,
    ):
        with pytest.raises(ValueError, match="n_jobs"):
            ask(rows)


@pytest.mark.parametrize("n_jobs", [2, 7])
def test_threads_change_no_bit_of_what_is_said_of_new_rows(n_jobs):
    X = random_rows(3000, 100)
    one = fitted(X)
    many = fitted(X).set_params(n_jobs=n_jobs)
    assert_array_equal(many.predict(X), one.predict(X))
    assert_array_equal(many.transform(X), one.transform(X))
    assert_array_equal(many.transform(X, top_m=3).data, one.transform(X, top_m=3).data)
    assert many.score(X) == one.score(X)


def test_a_failed_fit_leaves_nothing_fitted(rows):
    def fail(event):
        raise KeyError("mine")

    for model in (SphericalKMeans(10), fitted(rows)):
        with pytest.raises(KeyError):
            model.set_params(callback=fail).fit(rows)
        for ask in (model.predict, model.transform, model.score):
            with pytest.raises(NotFittedError):
                ask(rows)


def test_a_matrix_that_changes_during_a_run_is_told_as_such(rows):
    X = rows.copy()

    def change(event):
        if event["event"] == "iteration":
            X.indices[:] = 300

    with pytest.raises(docsphere.DocsphereError, match="was the matrix changed while fit ran"):
        fitted(X, algorithm="inverted", tol=0, callback=change)


def test_what_no_matrix_may_hold_is_refused(rows):
    broken = rows.copy()
    broken.data[5] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fitted(broken)
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
    bars = [bar.split("\r")[-1] for bar in shown.strip().split("\n")]
    names = [f"run {run} of 2: {what}" for run in (1, 2) for what in ("seeds", "iterations")]
    assert [bar.partition(": 100%")[0] for bar in bars] == names, "one line each, and all of them full"
    assert re.search(r"moved=\d+, ", bars[-1])


def test_a_progress_bar_may_be_switched_off(rows):
    code = "import numpy, docsphere; docsphere.SphericalKMeans(2, verbose=1).fit(numpy.eye(9))"
    environment = {**os.environ, "TQDM_DISABLE": "1"}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_progress_bar_shows_whole_numbers(capsys):
    bar = ProgressBar(100)
    bar({"event": "iteration", "iteration": 1, "moved_docs": 20_000, "objective": 1.0})
    bar.close()
    shown = capsys.readouterr().err
    assert "moved=20,000" in shown and "1/100" in shown, "a run that was broken off is not shown as full"


def test_k_of_one_and_of_all(rows):
    assert set(fitted(rows, n_clusters=1).labels_) == {0}
    distinct = random_rows(40, 60, seed=5)
    assert_allclose(fitted(distinct, n_clusters=40).inertia_, 0, atol=1e-4)
    assert all(fitted(random_rows(30, 60, seed=seed), n_clusters=30).inertia_ >= 0 for seed in range(20))
    twice = sparse.vstack([distinct, distinct]).tocsr()
    model = fitted(twice, n_clusters=80)
    assert model.n_empty_clusters_ == 40


def test_efforts_are_presets_that_other_parameters_replace(rows):
    def made(**options):
        return fitted(rows, n_clusters=40, **options)

    default, best, fast = made(), made(effort="best"), made(effort="fast")
    explicit = made(n_init=5, variation=True, rounds=10)
    assert_array_equal(best.labels_, explicit.labels_)
    assert best.similarity_ == explicit.similarity_ > default.similarity_ > fast.similarity_
    assert len(best.trace_["runs"]) == 15 and len(default.trace_["runs"]) == len(fast.trace_["runs"]) == 1
    assert_array_equal(made(effort="best", n_init=1, rounds=0).labels_, default.labels_)
    assert not any("varied_docs" in iteration for iteration in fast.trace_["iterations"])
    assert any("varied_docs" in iteration for iteration in default.trace_["iterations"])


def test_refined_labels_belong_to_root_centroids(rows):
    model, plain = fitted(rows, refine="root"), fitted(rows)
    assert_array_equal(model.predict(rows), model.labels_)
    assert 0 < len(model.trace_["refinement"]) <= 10
    assert model.trace_["iterations"][-1]["objective"] == plain.similarity_
    # The entries are roots of those of the sum: their squares are its shares. Nothing moves in the
    # last pass, so the sum is that of the labels.
    assert model.trace_["refinement"][-1]["moved_docs"] == 0
    total = np.asarray(rows[model.labels_ == 0].sum(axis=0)).ravel()
    squares = model.cluster_centers_[0].toarray().ravel() ** 2
    assert_allclose(squares, total / total.sum(), atol=1e-6)


@pytest.mark.parametrize("options", [{"effort": "best"}, {"effort": "fast"}, {"rounds": 2, "refine": "root"}])
def test_searches_are_those_of_the_command(rows, options, command, tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", rows)
    model = fitted(rows, **options)
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    out = tmp_path / "out"
    subprocess.run(
        [command, "cluster", tmp_path / "rows.npz", "-k", "10", "--seed", "3", "-o", out, "-q", *given], check=True
    )
    loaded = docsphere.load(out)
    assert_array_equal(loaded.predict(rows), model.labels_)
    assert (loaded.cluster_centers_ != model.cluster_centers_).nnz == 0
    assert (loaded.rounds, loaded.refine) == (options.get("rounds", loaded.rounds), options.get("refine", "none"))
