"""Data that several tests use."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

REPOSITORY = Path(__file__).parents[2]
CORPUS = REPOSITORY / "crates" / "docsphere-cli" / "corpora" / "everyday.jsonl"


def random_rows(n_rows: int, n_columns: int, *, seed: int = 0, density: float = 0.1) -> sparse.csr_matrix:
    """Return rows of length one in f32, none of them empty, in ten loose groups."""
    rng = np.random.default_rng(seed)
    centers = rng.random((10, n_columns)) ** 8
    rows = centers[np.arange(n_rows) % 10] * rng.random((n_rows, n_columns))
    rows[rows < np.quantile(rows, 1 - density)] = 0
    rows[:, 0] += 1e-3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    matrix = sparse.csr_matrix(rows.astype(np.float32))
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    assert np.allclose(lengths, 1, atol=4e-7)
    return matrix


@pytest.fixture(scope="session")
def rows() -> sparse.csr_matrix:
    return random_rows(600, 200)


@pytest.fixture(scope="session")
def documents() -> list[dict[str, str]]:
    """The demonstration corpus: texts on twenty subjects."""
    lines = CORPUS.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="session")
def texts(documents) -> list[str]:
    return [document["text"] for document in documents]


@pytest.fixture(scope="session")
def subjects(documents) -> list[str]:
    return [document["label"] for document in documents]


@pytest.fixture(scope="session")
def command() -> str:
    """The command ``docsphere``, which ``make test`` builds and names."""
    path = os.environ.get("DOCSPHERE_COMMAND")
    if path is None:
        pytest.skip("DOCSPHERE_COMMAND is not set: comparison with the command line LEFT OUT")
    return path
