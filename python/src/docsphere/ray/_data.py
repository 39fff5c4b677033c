"""Data that is on the nodes already, cut into shards: the blocks of a dataset, or CSR matrices.

Blocks stay where they are. A shard gets a list of slices, and fetches them when it is started, and
again if it has to be started again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
from numpy.typing import NDArray
from scipy import sparse

from .._errors import MatrixError, ParameterError
from .._matrix import csr_arrays

if TYPE_CHECKING:
    from .._docsphere import ShardWorker


@dataclass(frozen=True)
class Slice:
    """Some rows of a block that is in the object store."""

    block: Any
    start: int
    stop: int


def cut(blocks: Sequence[Any], lengths: Sequence[int], n_shards: int) -> list[list[Slice]]:
    """Cut blocks into shards of nearly equal length, in order."""
    total = sum(lengths)
    bounds = [total * shard // n_shards for shard in range(n_shards + 1)]
    ends = list(accumulate(lengths))
    shards: list[list[Slice]] = []
    for start, stop in pairwise(bounds):
        slices = []
        for block, length, end in zip(blocks, lengths, ends, strict=True):
            begin = end - length
            first, last = max(start, begin), min(stop, end)
            if first < last:
                slices.append(Slice(block, first - begin, last - begin))
        shards.append(slices)
    return shards


@dataclass(frozen=True)
class LoadTexts:
    """Gives a worker the texts in a column of its slices."""

    slices: list[Slice]
    column: str

    def __call__(self, worker: ShardWorker) -> None:
        """Load the texts."""
        texts: list[str] = []
        for table in _tables(self.slices, [self.column]):
            texts += table.column(self.column).to_pylist()
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                kind = "None" if text is None else type(text).__name__
                raise ParameterError(f'the column "{self.column}" must hold texts, got {kind} in row {number}')
        worker.load_texts(texts, None)


@dataclass(frozen=True)
class LoadSparse:
    """Gives a worker the rows whose indices and values are in columns of its slices."""

    slices: list[Slice]
    indices: str
    values: str
    weights: str | None
    n_features: int

    def __call__(self, worker: ShardWorker) -> None:
        """Load the rows."""
        wanted = [name for name in (self.indices, self.values, self.weights) if name is not None]
        parts = [self._rows(table) for table in _tables(self.slices, wanted)]
        counts, indices, values, weights = (_joined(list(arrays)) for arrays in zip(*parts, strict=True))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        matrix = (self.n_features, offsets, indices.astype(np.int64), values)
        worker.load_csr(matrix, None if self.weights is None else weights.astype(np.float64))

    def _rows(self, table: Any) -> tuple[NDArray[Any], ...]:
        counts, indices = lists_of(table.column(self.indices))
        value_counts, values = lists_of(table.column(self.values))
        if not np.array_equal(counts, value_counts):
            row = int(np.flatnonzero(counts != value_counts)[0])
            raise MatrixError(
                f'"{self.indices}" and "{self.values}" must be of equal length, got {counts[row]} and '
                f"{value_counts[row]} in row {row} of a block"
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        weights = np.empty(0) if self.weights is None else table.column(self.weights).to_numpy()
        return counts, indices, values, weights


@dataclass(frozen=True)
class LoadCsr:
    """Gives a worker the rows of SciPy matrices."""

    # Blocks are pairs: a matrix, and the weights of its rows or None.
    slices: list[Slice]

    def __call__(self, worker: ShardWorker) -> None:
        """Load the rows."""
        matrices, weights = [], []
        for part in self.slices:
            matrix, given = part.block
            matrices.append(ray.get(matrix).tocsr()[part.start : part.stop])
            if given is not None:
                weights.append(np.asarray(ray.get(given), dtype=np.float64)[part.start : part.stop])
        matrix = matrices[0] if len(matrices) == 1 else sparse.vstack(matrices, format="csr")
        worker.load_csr(csr_arrays(matrix), _joined(weights) if weights else None)


def _tables(slices: list[Slice], columns: list[str]) -> list[Any]:
    return [ray.get(part.block).select(columns).slice(part.start, part.stop - part.start) for part in slices]


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def lists_of(column: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the lengths of the lists in an Arrow column, and their values one after the other."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        if array.null_count:
            raise MatrixError("a row is null; give a row without entries an empty list")
        offsets = array.offsets.to_numpy()
        values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        return np.diff(offsets).astype(np.int64), values.to_numpy(zero_copy_only=False)
    rows = [np.asarray(row) for row in array.to_pylist()]
    if any(row.ndim != 1 for row in rows):
        raise MatrixError("rows must be lists of numbers")
    return np.array([len(row) for row in rows], dtype=np.int64), _joined(rows) if rows else np.empty(0)


def greatest_index(column: Any) -> int:
    """Return the greatest number in the lists of a column; -1 if there is none."""
    _, values = lists_of(column)
    return int(values.max()) if len(values) else -1
