"""Several numbers of clusters beside each other."""

from __future__ import annotations

import inspect
import json
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import docsphere
from docsphere import DocsphereError, ParameterError, SphericalKMeans, silhouette_score, sweep


def test_the_result_holds_measures_and_fitted_estimators(rows):
    result = sweep(rows, [5, 20, 10], random_state=0, stability=1)
    assert [row["n_clusters"] for row in result.table] == [5, 10, 20]
    for row in result.table:
        model = result.estimators[row["n_clusters"]]
        assert model.n_clusters == row["n_clusters"] == model.cluster_centers_.shape[0]
        assert_array_equal(model.predict(rows), result.labels[row["n_clusters"]])
        assert_allclose(row["objective"], model.similarity_)
        assert_allclose(row["silhouette"], silhouette_score(rows, model.labels_), atol=1e-12)
        assert -1 <= row["halves"]["ari"] <= 1 and 0 <= row["seeds"]["nmi"] <= 1
    # The greatest number is an ordinary fit.
    assert_array_equal(SphericalKMeans(20, random_state=0).fit(rows).labels_, result.labels[20])
    advice = result.recommendation
    assert advice["from"] <= advice["n_clusters"] <= advice["to"]
    again = sweep(rows, "5..20:3", random_state=0, stability=1, algorithm="inverted", n_jobs=2)
    assert again.table == result.table and again.recommendation == advice


def test_stability_can_be_left_out(rows):
    result = sweep(rows, [5, 10], stability=0, random_state=0)
    assert all(row["halves"] is None and row["seeds"] is None for row in result.table)
    assert result.recommendation["by_stability"] is None


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        ([], "n_clusters must be ints, at least one, or a str"),
        ([2.5], "n_clusters must be ints"),
        ("many", "n_clusters must be a range such as 20..2000"),
        ([1, 5], "from 2 to 16777216 in a sweep, got 1"),
        ([5, 601], "n_clusters must be at most 600"),
    ],
)
def test_numbers_must_fit(rows, n_clusters, message):
    with pytest.raises(DocsphereError, match=message):
        sweep(rows, n_clusters)


def test_other_options_are_checked(rows):
    with pytest.raises(ParameterError, match="stability must be an int of at least 0"):
        sweep(rows, [5], stability=-1)
    with pytest.raises(ParameterError, match="stability_sample must be at least 100"):
        sweep(rows, [5], stability_sample=5)


def test_numbers_names_and_defaults_are_those_of_the_command(command, rows, tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", rows)
    words = [command, "sweep", "rows.npz", "-k", "5,10", "-o", "out", "--quiet"]
    subprocess.run(words, cwd=tmp_path, check=True)
    theirs = json.loads((tmp_path / "out" / "sweep.json").read_text(encoding="utf-8"))
    ours = sweep(rows, [5, 10], random_state=0)
    for their, our in zip(theirs["results"], ours.table, strict=True):
        assert their["objective"] == our["objective"]
        for name in ("mean_similarity", "silhouette", "simplified_silhouette", "margin"):
            assert_allclose(their[name], our[name], atol=1e-6)
        for name in ("halves", "seeds"):
            assert_allclose(list(their[name].values()), list(our[name].values()), atol=1e-6)
    assert {name: theirs["recommendation"][name] for name in ours.recommendation} == ours.recommendation
    shown = subprocess.run([command, "sweep", "--help"], capture_output=True, text=True, check=True).stdout
    shown = " ".join(shown.split())
    parameters = inspect.signature(docsphere.sweep).parameters
    of_fit = inspect.signature(SphericalKMeans).parameters
    for name in ("stability", "stability_sample"):
        described = shown.partition(f"--{name.replace('_', '-')} <")[2].partition(" --")[0]
        assert f"[default: {parameters[name].default}]" in described
    for name in ("effort", "variation", "rounds", "refine", "max_iter", "tol", "algorithm"):
        assert parameters[name].default == of_fit[name].default
    assert np.isfinite([row["margin"] for row in ours.table]).all()
