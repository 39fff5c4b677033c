"""The coordinator finds the clusters of one machine, with workers in threads and processes."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import docsphere
from docsphere import _docsphere
from docsphere._executors import MakeShard, ProcessExecutor, ThreadExecutor
from docsphere._matrix import csr_arrays


class LoadRows:
    """Gives a worker some rows."""

    def __init__(self, rows, weights):
        self.rows, self.weights = rows, weights

    def __call__(self, worker):
        worker.load_csr(csr_arrays(self.rows), self.weights)


class LoadTexts:
    """Gives a worker some texts."""

    def __init__(self, texts):
        self.texts = texts

    def __call__(self, worker):
        worker.load_texts(self.texts, None)


def job(model, text=None):
    options = model._options(0, None) | {"n_threads": 1}
    return {"text": text, "params": options, "candidates": None, "fine": None, "files": None}


def assert_same(fit, expected):
    assert np.array_equal(fit.labels, expected.labels_)
    assert np.array_equal(fit.similarities, expected.similarities_)
    assert fit.objective == expected.similarity_ and fit.n_iter == expected.n_iter_
    assert (fit.n_empty_clusters, fit.n_outliers) == (expected.n_empty_clusters_, expected.n_outliers_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bounds", [(0, 600), (0, 1, 600), (0, 100, 101, 350, 600)])
def test_rows_in_any_division(rows, bounds, weighted):
    weights = np.random.default_rng(0).random(600) if weighted else None
    model = docsphere.SphericalKMeans(25, random_state=5)
    makers = [
        MakeShard(1, load=LoadRows(rows[start:stop], None if weights is None else weights[start:stop]))
        for start, stop in pairwise(bounds)
    ]
    executor = ThreadExecutor(makers)
    fit = _docsphere.coordinate(executor, job(model), None)
    executor.close()
    assert_same(fit, model.fit(rows, sample_weight=weights))


def test_texts_and_events(texts):
    vectorizer, model = docsphere.TextVectorizer(min_df=2), docsphere.SphericalKMeans(20, random_state=0)
    executor = ThreadExecutor([MakeShard(1, load=LoadTexts(part)) for part in (texts[:100], texts[100:])])
    events = []
    fit = _docsphere.coordinate(executor, job(model, vectorizer._options()), lambda event: events.append(event))
    executor.close()
    assert_same(fit, model.fit(vectorizer.fit_transform(texts)))
    told = [json.loads(event)["event"] for event in events]
    assert {"run", "seeding", "iteration"} <= set(told) and told.count("iteration") == fit.n_iter + 1
    assert fit.model.text.terms == list(vectorizer.vocabulary_)


def test_processes_that_are_killed(rows):
    model = docsphere.SphericalKMeans(25, random_state=5, tol=0)
    executor = ProcessExecutor([MakeShard(1, load=LoadRows(part, None)) for part in (rows[:200], rows[200:])])
    killed = []

    def kill(event):
        event = json.loads(event)
        if event["event"] == "recovered":
            killed.append("recovered")
        if event["event"] in ("seeding", "iteration") and killed.count(event["event"]) < 2:
            killed.append(event["event"])
            executor.processes[len(killed) % 2].process.kill()

    fit = _docsphere.coordinate(executor, job(model), kill)
    executor.close()
    assert killed.count("iteration") == 2 and "recovered" in killed
    assert_same(fit, model.fit(rows))


def test_an_exception_of_the_executor_arrives(rows):
    class Broken(ThreadExecutor):
        def call(self, requests, shared):
            raise docsphere.ClusterError("the network is down")

    executor = Broken([MakeShard(1, load=LoadRows(rows, None))])
    with pytest.raises(docsphere.ClusterError, match="the network is down"):
        _docsphere.coordinate(executor, job(docsphere.SphericalKMeans(5)), None)
    executor.close()
