"""The page in a notebook."""

from __future__ import annotations

import html
import inspect
import re
import subprocess

import pytest

import docsphere
from docsphere import SphericalKMeans, TextVectorizer

TEXTS = ["cats purr", 'cats & "cats" </iframe><script>alert(1)</script>', "cats sleep", "stocks fall", "stocks rise"]


@pytest.fixture(scope="module")
def fitted():
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    return SphericalKMeans(2, random_state=0).fit(X), X, vectorizer.get_feature_names_out()


def frame_of(report):
    """Return the attributes of the frame, of which nothing can break out."""
    shown = report._repr_html_()
    found = re.fullmatch(r"<iframe((?: [a-z]+=\"[^\"]*\")+)></iframe>", shown)
    assert found and shown.count("<") == 2
    return {name: html.unescape(value) for name, value in re.findall(r' ([a-z]+)="([^"]*)"', found[1])}


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(fitted, tmp_path):
    model, X, names = fitted
    path = tmp_path / "report.html"
    report = docsphere.report(model, X, TEXTS, path, feature_names=names)
    assert report.path == path and path.read_text(encoding="utf-8") == report.html
    frame = frame_of(report)
    assert frame["srcdoc"] == report.html
    sandbox = frame["sandbox"].split()
    assert "allow-scripts" in sandbox and "allow-same-origin" not in sandbox
    assert "height: 760px" in frame["style"] and "height: 300px" in frame_of(report.show(300))["style"]
    assert repr(report) == f"<Report of {len(report.html.encode()):,} bytes, written to {path}>"


def test_no_file_is_written_unless_asked_for(fitted, tmp_path, monkeypatch):
    model, X, names = fitted
    monkeypatch.chdir(tmp_path)
    shown = model.show(X, TEXTS, feature_names=names, title="pets", height=500)
    report = docsphere.report(model, X, TEXTS, None, feature_names=names, title="pets")
    assert shown.html == report.html and (shown.height, shown.path) == (500, None)
    assert '"title":"pets"' in shown.html
    assert list(tmp_path.iterdir()) == []
    report.save("page.html")
    assert (tmp_path / "page.html").read_bytes() == report.html.encode()
    for height in (-1, 2.5, "tall", True):
        with pytest.raises(docsphere.ParameterError, match="height must be an int"):
            model.show(X, TEXTS, height=height)


def test_a_result_is_shown_as_its_report(command, tmp_path):
    corpus, out = tmp_path / "corpus.txt", tmp_path / "out"
    corpus.write_text("\n".join(TEXTS), encoding="utf-8")
    subprocess.run([command, "cluster", corpus, "-k", "2", "-o", out, "-q"], check=True)
    shown = docsphere.load_result(out).show(height=640)
    assert shown.html == (out / "report.html").read_text(encoding="utf-8")
    assert "height: 640px" in frame_of(shown)["style"]
    short = docsphere.load_result(out).show(max_chars=0)
    assert "purr" in shown.html and len(short.html) < len(shown.html)
    (out / "points.docsphere").write_bytes(b"damaged")
    with pytest.raises(docsphere.FormatError, match=r"points\.docsphere"):
        docsphere.load_result(out).show()


@pytest.mark.parametrize("function", [docsphere.Report.show, docsphere.Result.show, SphericalKMeans.show])
def test_every_parameter_is_documented(function):
    page = inspect.getdoc(function)
    for name in list(inspect.signature(function).parameters)[1:]:
        assert f"\n{name} : " in page or f"\n**{name}\n" in page
