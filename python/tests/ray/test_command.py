"""The command has the options of ``docsphere cluster``, with their defaults."""

from __future__ import annotations

import argparse
import inspect
import re
import subprocess

import pytest

from docsphere.ray import SphericalKMeans, cluster
from docsphere.ray._options import arguments, parser, seconds, size

# What a cluster does not do, and why it cannot.
LEFT_OUT = {
    "config",  # The entrypoint of the job says all options.
    "vocabulary",  # Matrix files are not divided.
    "within",  # The documents of a cluster are kept with its result, in one file.
    "cluster",
    "no-rows",  # Rows stay with the workers, and are not kept.
    "keep",  # Columns are not kept by workers.
    "date-field",
    "split",  # Documents are not counted by their passages there.
    "duplicates",  # Rows are compared with rows of other shards.
    "duplicate-similarity",
    "device",  # Workers do not use GPUs.
    "lambdas",
    "index-min-changed",
    "index",
    "min-similarity",  # Summaries and silhouettes are not yet made without the outliers there.
    "silhouette",
    "show",
    "json",
    "max-memory",
}


def options(command: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    subcommand = command._subparsers._group_actions[0].choices["cluster"]
    return {name[2:]: action for action in subcommand._actions for name in action.option_strings if name[:2] == "--"}


def test_options_and_defaults_are_those_of_the_command(command):
    shown = subprocess.run([command, "cluster", "--help"], capture_output=True, text=True, check=True).stdout
    theirs = dict(re.findall(r"^ +(?:-\w, )?--([\w-]+)(.*?)(?=^ +(?:-\w, )?--|^\w|\Z)", shown, flags=re.M | re.S))
    ours = options(parser())
    assert set(theirs) - set(ours) == LEFT_OUT
    assert set(ours) - set(theirs) == {"address", "shards", "memory", "scratch", "restart-timeout"}
    for name, described in theirs.items():
        default = re.search(r"\[default: ([\w.+-]+)\]", " ".join(described.split()))
        if default and name in ours and ours[name].default is not None:
            mine = {(1, 1): "1", 1e-4: "0.0001", 10_000_000: "10M"}.get(ours[name].default, str(ours[name].default))
            assert mine == default[1], name


def test_every_option_reaches_the_run():
    given = parser().parse_args(["cluster", "a", "b", "-k", "3", "-o", "out"])
    expected = set(inspect.signature(cluster).parameters) - {"verbose", "callback"}
    passed = arguments(given)
    assert set(passed) == expected
    for name, parameter in inspect.signature(cluster).parameters.items():
        if name in passed and parameter.default is not parameter.empty and name != "vectorizer":
            assert passed[name] == parameter.default, name


def test_texts_are_read_as_people_write_them(tmp_path):
    (tmp_path / "stop").write_text("und\n\noder\n", encoding="utf-8")
    words = ["--stop-words-file", str(tmp_path / "stop"), "--ngrams", "1..2", "--min-df", "5", "--max-df", "0.5"]
    given = parser().parse_args(["cluster", "a", "-k", "3", "-o", "out", *words, "--smooth-idf", "--case-sensitive"])
    vectorizer = arguments(given)["vectorizer"]
    assert vectorizer.more_stop_words == ["und", "oder"] and vectorizer.ngram_range == (1, 2)
    assert (vectorizer.min_df, vectorizer.max_df, vectorizer.idf, vectorizer.lowercase) == (5, 0.5, "smooth", False)
    assert (seconds("90"), seconds("1.5m"), seconds("2h"), size("500M"), size("8G")) == (90, 90, 7200, 5e8, 8e9)
    for wrong in ("soon", "-1", ""):
        with pytest.raises(argparse.ArgumentTypeError):
            seconds(wrong)


@pytest.mark.parametrize("kind", [SphericalKMeans, cluster])
def test_every_parameter_is_documented_with_its_default(kind):
    page = inspect.getdoc(kind)
    for name, parameter in inspect.signature(kind).parameters.items():
        line = next(line for line in page.splitlines() if line.startswith(f"{name} : "))
        if parameter.default is parameter.empty:
            continue
        following = " ".join(page[page.index(line) :].split("\n", 2)[:2])
        default = str(parameter.default) if not isinstance(parameter.default, str) else f'"{parameter.default}"'
        documented = re.match(r'"[^"]*"|\S+', following.partition("default=")[2])[0]
        assert documented.replace("1e-4", "0.0001") == default, name
