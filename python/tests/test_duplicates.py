"""Rows that are copies of others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from docsphere import ParameterError, find_duplicates


def plain(rows: sparse.csr_matrix, similarity: float) -> list[int]:
    """The definition, by comparing all rows."""
    dense = rows.toarray().astype(np.float64)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    similarities = (dense / np.where(lengths > 0, lengths, 1)) @ (dense / np.where(lengths > 0, lengths, 1)).T
    originals = list(range(len(dense)))
    for row in range(len(dense)):
        earlier = [i for i in range(row) if originals[i] == i and similarities[row, i] >= similarity]
        originals[row] = earlier[0] if earlier else row
    return originals


def test_copies_are_those_of_the_definition(rows: sparse.csr_matrix) -> None:
    twice = sparse.vstack([rows, rows[::3] * 2.5, rows[:50]]).tocsr()
    for similarity in (0.7, 0.9):
        expected = plain(twice, similarity)
        assert expected != list(range(twice.shape[0]))
        for n_jobs in (1, 2):
            assert_array_equal(find_duplicates(twice, similarity=similarity, n_jobs=n_jobs), expected)
    assert_array_equal(find_duplicates(twice.toarray()), find_duplicates(twice))


@pytest.mark.parametrize("similarity", [0.4, 1.5, float("nan")])
def test_a_similarity_out_of_range_is_refused(rows: sparse.csr_matrix, similarity: float) -> None:
    with pytest.raises(ParameterError, match=r"duplicate_similarity must be from 0\.5 to 1"):
        find_duplicates(rows, similarity=similarity)
