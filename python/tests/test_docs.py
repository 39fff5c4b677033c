"""What is said fits what is there."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess

import pytest

import docsphere
from conftest import REPOSITORY


@pytest.mark.parametrize("kind", [docsphere.SphericalKMeans, docsphere.TextVectorizer])
def test_every_parameter_is_documented_with_its_default(kind):
    page = inspect.getdoc(kind)
    for name, parameter in inspect.signature(kind).parameters.items():
        line = next(line for line in page.splitlines() if line.startswith(f"{name} : "))
        following = page[page.index(line) :].split("\n", 2)[:2]
        default = str(parameter.default) if not isinstance(parameter.default, str) else f'"{parameter.default}"'
        documented = " ".join(following).partition("default=")[2]
        assert documented.replace("1e-4", "0.0001").startswith(default), name


@pytest.mark.parametrize("module", ["docsphere", "docsphere._kmeans", "docsphere._summary", "docsphere._text"])
def test_examples_run(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.parametrize("name", docsphere.__all__)
def test_everything_public_says_what_it_is(name):
    assert inspect.getdoc(getattr(docsphere, name))


def test_names_and_defaults_are_those_of_the_command(command):
    """One name and one default for each option, but for those that scikit-learn has named."""
    shown = subprocess.run([command, "cluster", "--help"], capture_output=True, text=True, check=True).stdout
    shown = " ".join(shown.split())
    parameters = inspect.signature(docsphere.SphericalKMeans).parameters
    named = {"n_init": "n-init", "max_iter": "max-iter", "tol": "tol", "algorithm": "strategy"}
    for ours, theirs in named.items():
        described = shown.partition(f"--{theirs} ")[2].partition(" --")[0]
        default = described.partition("[default: ")[2].partition("]")[0]
        assert str(parameters[ours].default).replace("1e-4", "0.0001") == default, ours


def test_the_tutorial_and_the_readme_are_linked():
    assert "docs/guide/python.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
