"""Model files, and the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline

import docsphere
from docsphere import SphericalKMeans, TextVectorizer, load, save


def clustered_by(command, arguments):
    ended = subprocess.run([command, "cluster", *arguments], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def labels_of(folder):
    with open(folder / "assignments.csv", encoding="utf-8", newline="") as file:
        return np.array([int(row["cluster"]) for row in csv.DictReader(file)])


def test_a_model_comes_back(rows, tmp_path):
    model = SphericalKMeans(10, random_state=0).fit(rows)
    save(model, tmp_path / "m.docsphere")
    again = load(tmp_path / "m.docsphere")
    assert_array_equal(again.predict(rows), model.labels_)
    assert (again.cluster_centers_ != model.cluster_centers_).nnz == 0
    assert (again.n_iter_, again.similarity_, again.converged_) == (model.n_iter_, model.similarity_, True)
    assert again.get_params()["n_clusters"] == 10 and again.get_params()["random_state"] == 0
    assert_array_equal(again.fit(rows).labels_, model.labels_)


def test_a_seed_of_64_bits_comes_back(rows, tmp_path):
    model = SphericalKMeans(10, random_state=2**64 - 1).fit(rows)
    save(model, tmp_path / "m.docsphere")
    again = load(tmp_path / "m.docsphere")
    assert again.random_state == 2**64 - 1
    assert_array_equal(again.fit(rows).labels_, model.labels_)
    with pytest.raises(ValueError, match="random_state"):
        SphericalKMeans(random_state=2**64).fit(rows)


def test_what_is_about_single_rows_is_not_in_a_file(rows, tmp_path):
    model = SphericalKMeans(10, random_state=0).fit(rows)
    save(model, tmp_path / "m.docsphere")
    absent = {name for name in vars(model) if name not in vars(load(tmp_path / "m.docsphere"))}
    assert absent == {"labels_", "similarities_", "inertia_", "n_empty_clusters_", "n_outliers_", "trace_"}
    assert all(f"`{name}`" in load.__doc__ for name in absent)
    given = SphericalKMeans(10, init=rows[:10]).fit(rows)
    save(given, tmp_path / "m.docsphere")
    assert load(tmp_path / "m.docsphere").init == "merge"


def test_a_pipeline_of_texts_comes_back(texts, tmp_path):
    pipeline = make_pipeline(TextVectorizer(ngram_range=(1, 2), min_df=2), SphericalKMeans(20, random_state=0))
    labels = pipeline.fit_predict(texts)
    save(pipeline, str(tmp_path / "m.docsphere"))
    again = load(str(tmp_path / "m.docsphere"))
    assert_array_equal(again.predict(texts), labels)
    assert again[0].get_params() == pipeline[0].get_params()


def test_what_is_no_model_is_refused(rows, tmp_path):
    (tmp_path / "x").write_text("hello, this is no model at all")
    with pytest.raises(docsphere.FormatError, match="x: not valid docsphere model"):
        load(tmp_path / "x")
    with pytest.raises(docsphere.FileError, match="cannot read"):
        load(tmp_path / "none")
    with pytest.raises(OSError, match="cannot write"):
        save(SphericalKMeans(2).fit(rows), tmp_path / "no" / "folder")
    with pytest.raises(docsphere.ParameterError, match="must be a SphericalKMeans or a Pipeline, got int"):
        save(3, tmp_path / "y")
    with pytest.raises(docsphere.ParameterError, match="must consist of"):
        save(make_pipeline(SphericalKMeans(2)), tmp_path / "y")


@pytest.mark.parametrize("init", ["merge", "plain-k-means++", "k-means++", "random"])
@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_labels_are_those_of_the_command(rows, tmp_path, command, init, n_jobs):
    sparse.save_npz(tmp_path / "rows.npz", rows)
    arguments = ["-k", "25", "--seed", "5", "--init", init, "--n-init", "2", "--output", str(tmp_path / "out")]
    clustered_by(command, [str(tmp_path / "rows.npz"), *arguments])
    model = SphericalKMeans(25, init=init, n_init=2, random_state=5, n_jobs=n_jobs).fit(rows)
    assert_array_equal(model.labels_, labels_of(tmp_path / "out"))


def test_with_only_k_and_a_seed_labels_are_those_of_the_command(rows, tmp_path, command):
    sparse.save_npz(tmp_path / "rows.npz", rows)
    clustered_by(command, [str(tmp_path / "rows.npz"), "-k", "25", "--seed", "5", "--output", str(tmp_path / "out")])
    model = SphericalKMeans(25, random_state=5).fit(rows)
    assert_array_equal(model.labels_, labels_of(tmp_path / "out"))


def test_the_command_reads_our_models_and_we_read_its(texts, tmp_path, command):
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    out = tmp_path / "out"
    clustered_by(command, [str(corpus), "-k", "20", "--seed", "1", "--output", str(out)])
    for theirs in (load(out / "model.docsphere"), load(out), load(str(out))):
        assert_array_equal(theirs.predict(texts), labels_of(out))
    ours = make_pipeline(TextVectorizer(), SphericalKMeans(20, random_state=1))
    assert_array_equal(ours.fit_predict(texts), labels_of(out))
    save(ours, tmp_path / "ours.docsphere")
    ended = subprocess.run(
        [command, "assign", str(tmp_path / "ours.docsphere"), str(corpus)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assigned = [int(row["cluster"]) for row in csv.DictReader(io.StringIO(ended.stdout))]
    assert_array_equal(assigned, labels_of(out))
