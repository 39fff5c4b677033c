"""What is said fits what is there."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess

import pytest

import docsphere
from conftest import REPOSITORY


@pytest.mark.parametrize(
    "kind", [docsphere.SphericalKMeans, docsphere.TextVectorizer, docsphere.report, docsphere.write_result]
)
def test_every_parameter_is_documented_with_its_default(kind):
    page = inspect.getdoc(kind)
    for name, parameter in inspect.signature(kind).parameters.items():
        line = next(line for line in page.splitlines() if line.startswith(f"{name} : "))
        if parameter.default is parameter.empty:
            continue
        following = page[page.index(line) :].split("\n", 2)[:2]
        default = str(parameter.default) if not isinstance(parameter.default, str) else f'"{parameter.default}"'
        documented = " ".join(following).partition("default=")[2]
        documented = re.match(r'"[^"]*"|\([^)]*\)|\S+', documented)[0]
        assert documented.replace("1e-4", "0.0001") == default, name


def test_every_item_of_the_trace_is_documented(rows):
    page = inspect.getdoc(docsphere.SphericalKMeans)
    documented = set(re.findall(r"``(\w+)``", page[page.index("trace_ : dict") :]))
    events = []
    for algorithm in docsphere._docsphere.algorithms():
        model = docsphere.SphericalKMeans(10, algorithm=algorithm, callback=events.append).fit(rows)
        for record in (model.trace_, *model.trace_["runs"], *model.trace_["iterations"]):
            assert set(record) <= documented
        assert set(model.trace_["iterations"][0]["seconds"]) <= documented
    told = set().union(*events) - {"event"}
    assert told <= set(re.findall(r"``(\w+)``", page))


def test_every_algorithm_is_documented():
    page = inspect.getdoc(docsphere.SphericalKMeans)
    assert re.findall(r'^    - "([\w-]+)": ', page, flags=re.MULTILINE) == docsphere._docsphere.algorithms()


@pytest.mark.parametrize("name", ["language", "stop_words", "stemmer"])
def test_every_language_is_documented(name):
    page = inspect.getdoc(docsphere.TextVectorizer)
    described = page.partition(f"\n{name} : ")[2].partition(" : ")[0]
    with pytest.raises(docsphere.ParameterError) as refused:
        docsphere.TextVectorizer(**{name: "klingon"}).fit(["one text"])
    languages = re.findall(
        r"\w+", str(refused.value).partition("one of ")[2].partition(", or ")[0].partition(", got")[0]
    )
    assert len(languages) > 20
    for language in languages:
        assert re.search(rf"\b{language}\b", described), language


@pytest.mark.parametrize("module", ["", "._duplicates", "._kmeans", "._result", "._summary", "._sweep", "._text"])
def test_examples_run(module):
    result = doctest.testmod(importlib.import_module(f"docsphere{module}"))
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.parametrize("name", docsphere.__all__)
def test_everything_public_says_what_it_is(name):
    assert inspect.getdoc(getattr(docsphere, name))


def test_names_and_defaults_are_those_of_the_command(command):
    """One name and one default for each option, but for those that scikit-learn has named."""
    shown = subprocess.run([command, "cluster", "--help"], capture_output=True, text=True, check=True).stdout
    shown = " ".join(shown.split())
    parameters = inspect.signature(docsphere.SphericalKMeans).parameters
    named = {
        "effort": "effort",
        "n_init": "n-init",
        "variation": "variation",
        "rounds": "rounds",
        "refine": "refine",
        "max_iter": "max-iter",
        "tol": "tol",
        "algorithm": "strategy",
    }
    # What None stands for, as the docstring says; tests of fits show that it is so.
    stands_for = {"n_init": "None is 1, or 5", "variation": "None is true, except", "rounds": "None is 0, or 10"}
    documented = " ".join(docsphere.SphericalKMeans.__doc__.split())
    for ours, theirs in named.items():
        described = shown.partition(f"--{theirs} <")[2].partition(" --")[0]
        default = described.partition("[default: ")[2].partition("]")[0]
        value = str(parameters[ours].default).replace("1e-4", "0.0001")
        if ours in stands_for:
            assert value == "None" and stands_for[ours] in documented, ours
            value = stands_for[ours].split()[2].rstrip(",").replace("true", "on")
        assert value == default, ours


def test_the_tutorial_and_the_readme_are_linked():
    assert "docs/guide/python.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
