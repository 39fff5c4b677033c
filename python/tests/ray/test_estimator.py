"""The estimator finds the clusters of `docsphere.SphericalKMeans`, bit by bit."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import ray
from scipy import sparse
from sklearn.pipeline import make_pipeline

import docsphere
from docsphere.ray import SphericalKMeans


def many_copies(rows):
    """Few distinct rows, so that clusters run empty and are refilled."""
    return sparse.vstack([rows[:12]] * 10 + [rows[12:30]], format="csr")


def negative(rows):
    rows = rows.copy()
    rows.data[::3] *= -1
    return rows


def with_empty_rows(rows):
    return sparse.vstack([rows[:50], sparse.csr_matrix((3, rows.shape[1])), rows[50:]], format="csr")


KINDS = {"plain": lambda rows: rows, "copies": many_copies, "negative": negative, "empty": with_empty_rows}


def on_nodes(rows, n_parts):
    bounds = np.linspace(0, rows.shape[0], n_parts + 1).astype(int)
    return [ray.put(rows[start:stop]) for start, stop in pairwise(bounds)]


def assert_same(model, expected):
    assert np.array_equal(model.labels_, expected.labels_)
    assert np.array_equal(model.similarities_, expected.similarities_)
    for part in ("data", "indices", "indptr"):
        ours, theirs = (getattr(fitted.cluster_centers_, part) for fitted in (model, expected))
        assert np.array_equal(ours, theirs)
    same = ("similarity_", "inertia_", "n_iter_", "converged_", "n_empty_clusters_", "n_outliers_", "n_features_in_")
    for name in same:
        assert getattr(model, name) == getattr(expected, name), name


@pytest.mark.parametrize(
    ("kind", "weighted", "n_shards"),
    [
        ("plain", False, 1),
        ("plain", True, 5),
        ("copies", False, 5),
        ("copies", True, 2),
        ("negative", False, 2),
        ("negative", True, 5),
        ("empty", True, 2),
    ],
)
def test_matrices_on_nodes(cluster, rows, kind, weighted, n_shards):
    rows = KINDS[kind](rows)
    weights = np.random.default_rng(1).integers(0, 4, rows.shape[0]) + 0.5 if weighted else None
    refs = None if weights is None else [ray.put(weights[:100]), ray.put(weights[100:])]
    parts = [ray.put(rows[:100]), ray.put(rows[100:])]
    options = {"n_clusters": 25, "random_state": 3, "n_init": 2}
    expected = docsphere.SphericalKMeans(**options).fit(rows, sample_weight=weights)
    model = SphericalKMeans(**options, num_shards=n_shards, threads_per_shard=1).fit(parts, sample_weight=refs)
    assert_same(model, expected)
    assert np.array_equal(model.predict(rows), expected.predict(rows))


def test_a_dataset_of_sparse_rows(cluster, rows):
    split = np.split(rows.indices, rows.indptr[1:-1]), np.split(rows.data, rows.indptr[1:-1])
    weights = np.arange(rows.shape[0]) % 3 + 1.0
    table = pd.DataFrame({"i": split[0], "v": split[1], "w": weights})
    dataset = ray.data.from_pandas(table).repartition(4)
    model = SphericalKMeans(
        10, random_state=0, indices_column="i", values_column="v", n_features=rows.shape[1], num_shards=3
    )
    assert_same(
        model.fit(dataset, sample_weight="w"),
        docsphere.SphericalKMeans(10, random_state=0).fit(rows, sample_weight=weights),
    )


def test_a_dataset_of_texts(cluster, texts):
    vectorizer = docsphere.TextVectorizer(min_df=2, ngram_range=(1, 2))
    expected = docsphere.SphericalKMeans(20, random_state=0).fit(vectorizer.fit_transform(texts))
    dataset = ray.data.from_items([{"body": text} for text in texts], override_num_blocks=3)
    unfitted = docsphere.TextVectorizer(min_df=2, ngram_range=(1, 2))
    model = SphericalKMeans(20, random_state=0, vectorizer=unfitted, text_column="body", num_shards=2).fit(dataset)
    assert_same(model, expected)
    assert not hasattr(unfitted, "vocabulary_")
    assert np.array_equal(model.vectorizer_.get_feature_names_out(), vectorizer.get_feature_names_out())
    assert np.array_equal(make_pipeline(model.vectorizer_, model).predict(texts[:50]), expected.labels_[:50])


def test_given_centroids(cluster, rows):
    init = rows[:15].toarray()
    expected = docsphere.SphericalKMeans(15, init=init).fit(rows)
    assert_same(SphericalKMeans(15, init=init, num_shards=2).fit(on_nodes(rows, 3)), expected)


def test_a_callback_ends_a_run_with_its_result(cluster, rows):
    def stop(event):
        return event["event"] == "iteration" and event["iteration"] == 2

    expected = docsphere.SphericalKMeans(30, random_state=0, tol=0, callback=stop).fit(rows)
    model = SphericalKMeans(30, random_state=0, tol=0, callback=stop, num_shards=2).fit(on_nodes(rows, 2))
    assert not model.converged_ and model.n_iter_ == expected.n_iter_ == 2
    assert_same(model, expected)


def test_an_exception_of_a_callback_arrives(cluster, rows):
    def fail(event):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        SphericalKMeans(5, callback=fail, num_shards=2).fit(on_nodes(rows, 2))


def test_a_lost_node_changes_no_bit(cluster, rows, executors):
    expected = docsphere.SphericalKMeans(30, random_state=0, tol=0).fit(rows)
    killed = []

    def kill(event):
        if event["event"] == "iteration" and event["iteration"] == 3 and not killed:
            killed.append(executors[-1].nodes[0])
            cluster.kill_node(killed[0])

    # The matrices are kept where no node is killed.
    model = SphericalKMeans(30, random_state=0, tol=0, callback=kill, num_shards=4).fit(on_nodes(rows, 4))
    assert killed and executors[-1].nodes[0] != killed[0]
    assert_same(model, expected)


def test_mistakes_are_refused_with_their_cause(cluster, rows):
    with pytest.raises(docsphere.ParameterError, match=r"X must be a ray\.data.Dataset"):
        SphericalKMeans(5).fit(rows)
    with pytest.raises(docsphere.ParameterError, match="n_samples=3 must be at least n_clusters=5"):
        SphericalKMeans(5).fit([ray.put(rows[:3])])
    broken = rows.copy()
    broken.data[0] = np.nan
    with pytest.raises(docsphere.DocsphereError, match="shard 1"):
        SphericalKMeans(5, num_shards=2).fit([ray.put(rows), ray.put(broken)])


def test_everything_is_gone_after_a_fit(cluster, rows):
    SphericalKMeans(5, num_shards=2).fit(on_nodes(rows, 2))
    deadline = time.monotonic() + 20
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
