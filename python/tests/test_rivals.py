"""The comparison with other programs (``benchmarks/rivals.py``)."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY

SCRIPT = REPOSITORY / "benchmarks" / "rivals.py"


@pytest.fixture(scope="module")
def rivals():
    spec = importlib.util.spec_from_file_location("rivals", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_only_ends_of_lines_end_a_record(rivals, tmp_path):
    texts = ["cats\u2028purr", "dogs\x85bark", "rates rise"]
    corpus = tmp_path / "texts.jsonl"
    records = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
    corpus.write_text("".join(records), encoding="utf-8", newline="")
    assert rivals.vectorized(corpus, None, tmp_path / "rows.npz") == (3, 6)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("memory allocation of 8 bytes failed", "over 9 MB"),
        ("std::bad_alloc", "over 9 MB"),
        ("no such thing", "no such thing"),
    ],
)
def test_a_program_without_memory_is_told_from_one_that_failed(rivals, monkeypatch, message, error):
    ended = SimpleNamespace(returncode=1, stderr=message + "\n", stdout="")
    monkeypatch.setattr(rivals.subprocess, "run", lambda *_, **__: ended)
    arguments = SimpleNamespace(soy_python=None, threads=1, limit_s=1, limit_mb=9)
    assert rivals.measure(arguments, "docsphere", "rows.npz", 2) == {"error": error}


def test_a_corpus_must_be_given():
    ended = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
    assert ended.returncode == 2 and "a corpus must be given" in ended.stderr
