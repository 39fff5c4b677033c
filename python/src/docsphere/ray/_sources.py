"""From a dataset, or references to matrices, to what each worker loads.

Nothing is copied here: small tasks ask blocks for their lengths, where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from .._errors import MatrixError, ParameterError
from ._data import LoadCsr, LoadSparse, LoadTexts, cut, greatest_index


@dataclass(frozen=True)
class Source:
    """The rows of a run, cut into shards."""

    # For each shard what gives a worker its rows.
    loaders: list[Callable[[Any], object]]
    n_rows: int
    # The number of columns; None for texts, whose terms are not known yet.
    n_features: int | None
    # References to the weights of the rows, in order.
    weight_parts: Sequence[Any] | None = None

    def weights(self) -> NDArray[np.float64] | None:
        """Fetch the weights of all rows."""
        if self.weight_parts is None:
            return None
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in ray.get(list(self.weight_parts))])


@dataclass(frozen=True)
class Columns:
    """Which columns of a dataset are used."""

    text: str | None
    indices: str | None
    values: str | None
    weights: str | None
    n_features: int | None

    def used(self) -> list[str]:
        """Return the names, checked."""
        if (self.indices is None) != (self.values is None):
            raise ParameterError("indices_column and values_column go together")
        if self.indices is None and self.text is None:
            raise ParameterError("give text_column, or indices_column and values_column")
        if self.indices is None and self.weights is not None:
            raise ParameterError("sample_weight goes with rows, not with texts")
        names = [self.text] if self.indices is None else [self.indices, self.values, self.weights]
        return [name for name in names if name is not None]


def from_dataset(dataset: Any, columns: Columns, num_shards: int) -> Source:
    """Cut a dataset into shards, in the order of its rows."""
    used = columns.used()
    present = dataset.columns()
    missing = [name for name in used if name not in (present or [])]
    if missing:
        raise ParameterError(f'the dataset has no column "{missing[0]}", only {", ".join(present or [])}')
    # Without this, blocks come in the order in which tasks end.
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        blocks = dataset.select_columns(used).to_arrow_refs()
    finally:
        options.preserve_order = before
    lengths = ray.get(_asked(_n_rows, blocks))
    slices = cut(blocks, lengths, _at_most(num_shards, sum(lengths)))
    if columns.indices is None or columns.values is None:
        assert columns.text is not None
        return Source([LoadTexts(part, columns.text) for part in slices], sum(lengths), None)
    n_features = columns.n_features
    if n_features is None:
        n_features = 1 + max(ray.get(_asked(_greatest, blocks, columns.indices)))
    loaders = [LoadSparse(part, columns.indices, columns.values, columns.weights, n_features) for part in slices]
    weights = None if columns.weights is None else _asked(_column, blocks, columns.weights)
    return Source(list(loaders), sum(lengths), n_features, weights)


def from_matrices(matrices: Sequence[Any], weights: Sequence[Any] | None, num_shards: int) -> Source:
    """Cut matrices into shards; the rows of one follow those of the one before."""
    shapes = ray.get(_asked(_shape, matrices))
    widths = {width for _, width in shapes}
    if len(widths) != 1:
        raise MatrixError(f"all matrices must have the same number of columns, got {sorted(widths)}")
    lengths = [length for length, _ in shapes]
    if weights is not None:
        if len(weights) != len(matrices):
            raise ParameterError(f"sample_weight must be {len(matrices)} arrays, one per matrix, got {len(weights)}")
        for number, (expected, (length,)) in enumerate(zip(lengths, ray.get(_asked(_shape, weights)), strict=True)):
            if length != expected:
                raise ParameterError(f"sample_weight must have {expected} values for matrix {number}, got {length}")
    pairs = list(zip(matrices, weights or [None] * len(matrices), strict=True))
    loaders = [LoadCsr(part) for part in cut(pairs, lengths, _at_most(num_shards, sum(lengths)))]
    return Source(list(loaders), sum(lengths), widths.pop(), weights)


def _at_most(num_shards: int, n_rows: int) -> int:
    """Return the number of shards, none of which is without rows."""
    if n_rows == 0:
        raise ParameterError("there are no rows")
    return min(num_shards, n_rows)


def _asked(question: Callable[..., object], blocks: Sequence[Any], *arguments: object) -> list[Any]:
    """Call a function with each block, on the node that has it; returns references to the answers."""
    task = ray.remote(question).options(num_cpus=0)
    return [task.remote(block, *arguments) for block in blocks]


def _n_rows(block: Any) -> int:
    return int(block.num_rows)


def _greatest(block: Any, column: str) -> int:
    return greatest_index(block.column(column))


def _column(block: Any, column: str) -> Any:
    return block.column(column).to_numpy()


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(int(length) for length in array.shape)
