"""Results as files: the page, and folders that are shared with the command."""

from __future__ import annotations

import json
import re
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline

import docsphere
from docsphere import SphericalKMeans, TextVectorizer

TEXTS = [
    "cats purr and cats sleep",
    "a cat, cats, more cats </script><script>alert(1)</script>",
    "cats sleep all day",
    "stocks fall",
    "stocks and rates rise",
    "rates fall as stocks rise",
]


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(TextVectorizer(), SphericalKMeans(2, n_init=10, random_state=0)).fit(TEXTS)


def page_data(path):
    """Return the data of a page, and see that nothing can end it early."""
    page = path.read_text(encoding="utf-8")
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert "<" not in data
    return json.loads(data)


def test_a_report_shows_the_clusters(pipeline, tmp_path):
    docsphere.report(pipeline, TEXTS, path=tmp_path / "report.html", title="pets and money")
    data, model = page_data(tmp_path / "report.html"), pipeline[-1]
    assert data["title"] == "pets and money"
    assert data["version"] == docsphere.__version__
    assert data["totals"]["documents"] == len(TEXTS)
    assert data["totals"]["objective"] == pytest.approx(model.similarity_, abs=1e-3)
    assert [cluster["size"] for cluster in data["clusters"]] == np.bincount(model.labels_).tolist()
    cats = data["clusters"][model.labels_[0]]
    assert cats["keywords"][0][0] == "cats"
    assert {found["text"] for found in cats["typical"] + cats["least"]} == set(TEXTS[:3])
    assert len(data["trace"]["objective"]) == len(model.trace_["iterations"])
    assert ["n_clusters", "2"] in data["settings"] and ["n_init", "10"] in data["settings"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_is_that_of_the_command(command, texts, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    options = ["--n-clusters", "20", "--seed", "7", "--output", tmp_path / "command", "--quiet"]
    subprocess.run([command, "cluster", corpus, *options], check=True)
    pipeline = make_pipeline(TextVectorizer(), SphericalKMeans(20, random_state=7)).fit(texts)
    docsphere.write_result(pipeline, texts, path=tmp_path / "python", title="corpus.jsonl")
    for name in ("assignments.csv", "clusters.json", "groups.json", "map.json", "points.docsphere"):
        theirs, ours = ((tmp_path / folder / name).read_bytes() for folder in ("command", "python"))
        assert ours == theirs, name
    ours, theirs = (page_data(tmp_path / folder / "report.html") for folder in ("python", "command"))
    for data in (ours, theirs):
        del data["settings"]
    assert ours == theirs
    names = {path.name for path in (tmp_path / "command").iterdir()}
    # What only the command needs: to add documents, and to run again.
    names -= {"rows.docsphere", "texts.docsphere", "run.toml"}
    assert {path.name for path in (tmp_path / "python").iterdir()} == names


def test_the_command_takes_a_result(command, pipeline, tmp_path):
    out = tmp_path / "out"
    docsphere.write_result(pipeline, TEXTS, path=out)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(TEXTS), encoding="utf-8")
    before = (out / "report.html").read_bytes()

    def run(*words):
        return subprocess.run([command, *words], capture_output=True, text=True, check=True).stdout

    # Texts in Python are taken as they are; files are read without their tags.
    assert "0 mismatches" in run("verify", out, corpus, "--html", "keep")
    run("report", out)
    assert (out / "report.html").read_bytes() == before, "made again from the files alone"
    assert "cats" in run("inspect", out, "--cluster", str(pipeline[-1].labels_[0]))
    run("merge", out, "--groups", "1")
    assert docsphere.load_result(out).groups["n_groups"] == 1
    assert "6 documents" in run("index", out, corpus, "--html", "keep")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_result_of_the_command_is_read(command, kind, tmp_path):
    corpus, out = tmp_path / "corpus.txt", tmp_path / "out"
    corpus.write_text("\n".join(TEXTS), encoding="utf-8")
    words = [command, "cluster", corpus, "-k", "2", "-o", out, "-q", "--assignments", kind]
    subprocess.run(words, check=True)
    result = docsphere.load_result(out)
    assert result.ids == ["1", "2", "3", "4", "5", "6"]
    assert result.labels.dtype == np.int32 and result.similarities.dtype == np.float64
    assert_array_equal(result.model.predict(TEXTS), result.labels)
    assert len(result.clusters["clusters"]) == 2 and result.groups["n_clusters"] == 2
    assert {"name": "INPUT", "values": [str(corpus)]} in result.trace["settings"]
    # As an older version wrote it.
    clusters = json.loads((out / "clusters.json").read_text())
    del clusters["n_outliers"]
    for cluster in clusters["clusters"]:
        del cluster["least_typical"], cluster["histogram"]
    (out / "clusters.json").write_text(json.dumps(clusters))
    older = docsphere.load_result(out).clusters
    assert older["n_outliers"] == 0 and older["clusters"][0]["histogram"] == []


def test_assignments_in_parts_are_read(pipeline, tmp_path):
    out = tmp_path / "out"
    docsphere.write_result(pipeline, TEXTS, path=out)
    whole = docsphere.load_result(out)
    header, *lines = (out / "assignments.csv").read_text().splitlines(keepends=True)
    (out / "assignments").mkdir()
    for number, part in enumerate([lines[:4], [], lines[4:]]):
        (out / "assignments" / f"part-{number:05}.csv").write_text(header + "".join(part))
    with pytest.raises(docsphere.FormatError, match=r"assignments: is there beside assignments\.csv"):
        docsphere.load_result(out)
    (out / "assignments.csv").unlink()
    result = docsphere.load_result(out)
    assert result.ids == whole.ids
    assert_array_equal(result.labels, whole.labels)
    assert_array_equal(result.similarities, whole.similarities)
    (out / "assignments" / "part-00001.csv").unlink()
    with pytest.raises(docsphere.FormatError, match=r"part-00001\.csv: is missing, but there is part-00002"):
        docsphere.load_result(out)


def test_assignments_in_parquet(command, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    results = []
    for kind in ("csv", "parquet"):
        out = tmp_path / kind
        arguments = ["cluster", tmp_path / "texts.txt", "-k", "2", "-o", out, "--assignments", kind, "--quiet"]
        subprocess.run([command, *arguments], check=True)
        results.append(docsphere.load_result(out))
    assert results[0].ids == results[1].ids
    assert_array_equal(results[0].labels, results[1].labels)
    (tmp_path / "parquet" / "assignments.parquet").write_text("damaged")
    with pytest.raises(docsphere.FormatError, match=r"assignments\.parquet: not valid Parquet"):
        docsphere.load_result(tmp_path / "parquet")


def test_what_was_written_is_read(pipeline, tmp_path):
    ids = [f"note {number}" for number in range(6)]
    docsphere.write_result(pipeline, TEXTS, path=tmp_path / "out", ids=ids)
    result, model = docsphere.load_result(tmp_path / "out"), pipeline[-1]
    assert result.ids == ids
    assert_array_equal(result.labels, model.labels_)
    np.testing.assert_allclose(result.similarities, model.similarities_, atol=5e-7)
    assert_array_equal(result.model.predict(TEXTS), model.labels_)
    assert result.clusters["objective"] == model.similarity_
    assert result.trace["iterations"] == model.trace_["iterations"]


def test_rows_of_a_matrix_have_numbers_or_names(rows, tmp_path):
    model = SphericalKMeans(10, random_state=0).fit(rows)
    docsphere.report(model, rows, path=tmp_path / "numbers.html")
    cluster = page_data(tmp_path / "numbers.html")["clusters"][0]
    assert re.fullmatch(r"#\d+", cluster["keywords"][0][0]) and "text" not in cluster["typical"][0]
    names = [f"word{column}" for column in range(rows.shape[1])]
    docsphere.report(model, rows, path=tmp_path / "names.html", feature_names=names, n_representatives=0)
    cluster = page_data(tmp_path / "names.html")["clusters"][0]
    assert cluster["keywords"][0][0].startswith("word") and cluster["typical"] == []


def test_other_rows_and_loaded_models_have_a_report(pipeline, tmp_path):
    docsphere.save(pipeline, tmp_path / "model.docsphere")
    loaded = docsphere.load(tmp_path / "model.docsphere")
    for number, model in enumerate([pipeline, loaded]):
        path = tmp_path / f"{number}.html"
        docsphere.report(model, ["cats sleep", "and nothing else"], path=path)
        data = page_data(path)
        assert data["totals"]["documents"] == 2 and data["totals"]["withoutTerms"] == 1
        similarity = pipeline.score(["cats sleep", "and nothing else"])
        assert data["totals"]["objective"] == pytest.approx(similarity, abs=1e-3), "of these rows, not of fit"
    assert data["trace"] == {"objective": [], "moved": []}, "a model file has no trace"


def test_the_rows_of_fit_keep_its_labels(tmp_path):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    model = SphericalKMeans(2, init=np.array([[1.0, 0.0], [0.0, 1.0]])).fit(X)
    model.labels_ = np.array([1, 0, 1])
    docsphere.write_result(model, X, path=tmp_path / "out")
    assert_array_equal(docsphere.load_result(tmp_path / "out").labels, [1, 0, 1])


def test_nothing_is_replaced_and_mistakes_are_refused(pipeline, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(docsphere.FileError, match="out: is there already and is not replaced"):
        docsphere.write_result(pipeline, TEXTS, path=out)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "mine.txt"]
    with pytest.raises(docsphere.FileError, match="cannot write: there is no folder"):
        docsphere.report(pipeline, TEXTS, path=tmp_path / "none" / "report.html")
    with pytest.raises(docsphere.ParameterError, match="texts must be 6, one for each row of X, got 5"):
        docsphere.report(pipeline, TEXTS, TEXTS[1:], tmp_path / "a.html")
    with pytest.raises(docsphere.ParameterError, match="ids must be 6, one for each row of X, got 1"):
        docsphere.report(pipeline, TEXTS, path=tmp_path / "a.html", ids=["a"])
    with pytest.raises(docsphere.ParameterError, match="texts must be an iterable of texts, got a single text"):
        docsphere.report(pipeline, TEXTS, "report.html")
    with pytest.raises(docsphere.ParameterError, match="n_keywords must be an int of at least 0, got -1"):
        docsphere.report(pipeline, TEXTS, path=tmp_path / "a.html", n_keywords=-1)
    with pytest.raises(docsphere.FileError, match=r"clusters\.json: cannot read"):
        docsphere.load_result(tmp_path / "none")
    docsphere.write_result(pipeline, TEXTS, path=tmp_path / "good")
    # Those that are read last come first: a file stays broken.
    for name, message in (
        ("trace.json", "is not the trace of a run"),
        ("assignments.csv", "cannot read: CSV"),
        ("groups.json", "holds no groups"),
        ("clusters.json", "is not a list of clusters"),
    ):
        (tmp_path / "good" / name).write_text("a,b,c\n1,2\n")
        with pytest.raises(docsphere.FormatError, match=f"{name}: {message}"):
            docsphere.load_result(tmp_path / "good")
    assert not (tmp_path / "a.html").exists()


def test_a_page_keeps_within_its_size(pipeline, tmp_path):
    path = tmp_path / "report.html"
    docsphere.report(pipeline, TEXTS, path=path)
    size = path.stat().st_size
    docsphere.report(pipeline, TEXTS, path=path, max_bytes=size - 20)
    assert path.stat().st_size <= size - 20
    docsphere.report(pipeline, TEXTS, path=path, max_chars=0)
    assert "text" not in page_data(path)["clusters"][0]["typical"][0]
