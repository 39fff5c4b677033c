"""Data on the nodes is cut into shards without a change of order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import ray
from scipy import sparse

import docsphere
from docsphere.ray._data import Slice, cut
from docsphere.ray._sources import Columns, from_dataset, from_matrices


class Loaded:
    """Keeps what a loader gives to a worker."""

    def __init__(self, loader):
        loader(self)

    def load_texts(self, texts, ids):
        self.texts = texts

    def load_csr(self, arrays, weights):
        n_columns, offsets, indices, values = arrays
        self.matrix = sparse.csr_matrix((values, indices, offsets), shape=(len(offsets) - 1, n_columns))
        self.weights = weights


@pytest.fixture(scope="module")
def rows(rows):
    return rows[:100, :40].tocsr()


@pytest.fixture(scope="module")
def weights():
    return np.arange(100, dtype=np.float64)


def listed(rows, weights):
    """The rows as columns of indices, values and weights."""
    split = np.split(rows.indices, rows.indptr[1:-1]), np.split(rows.data, rows.indptr[1:-1])
    return pd.DataFrame(
        {"terms": split[0], "values": split[1], "weight": weights, "text": [f"t{n}" for n in range(100)]}
    )


def columns(**given):
    return Columns(**({"text": None, "indices": None, "values": None, "weights": None, "n_features": None} | given))


@pytest.mark.parametrize(("lengths", "n_shards"), [([3, 0, 4], 2), ([10], 4), ([1, 1, 1, 1], 3), ([5, 7], 12)])
def test_shards_hold_every_row_once_and_in_order(lengths, n_shards):
    shards = cut(range(len(lengths)), lengths, n_shards)
    cut_rows = [(part.block, row) for shard in shards for part in shard for row in range(part.start, part.stop)]
    assert cut_rows == [(block, row) for block, length in enumerate(lengths) for row in range(length)]
    sizes = [sum(part.stop - part.start for part in shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    assert cut("a", [2], 1) == [[Slice("a", 0, 2)]]


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("n_blocks", [1, 7])
def test_a_dataset_of_sparse_rows(cluster, rows, weights, n_blocks, n_shards):
    dataset = ray.data.from_pandas(listed(rows, weights)).repartition(n_blocks)
    source = from_dataset(dataset, columns(indices="terms", values="values", weights="weight"), n_shards)
    loaded = [Loaded(loader) for loader in source.loaders]
    assert len(loaded) == n_shards and source.n_rows == 100
    assert (sparse.vstack([part.matrix for part in loaded]) != rows[:, : source.n_features]).nnz == 0
    assert source.n_features == rows.indices.max() + 1
    assert np.array_equal(np.concatenate([part.weights for part in loaded]), weights)
    assert np.array_equal(source.weights(), weights)


def test_rows_without_entries_keep_their_place(cluster):
    dataset = ray.data.from_items(
        [{"i": [], "v": []}, {"i": [2, 0], "v": [1, 2]}, {"i": [], "v": []}], override_num_blocks=1
    )
    source = from_dataset(dataset, columns(indices="i", values="v", n_features=5), 1)
    assert Loaded(source.loaders[0]).matrix.toarray().tolist() == [[0] * 5, [2, 0, 1, 0, 0], [0] * 5]


def test_texts_keep_their_order_although_tasks_do_not_end_in_it(cluster):
    def slow_first(batch):
        import time

        time.sleep(2.0 if batch["id"][0] == 0 else 0.0)
        return {"text": [f"t{number}" for number in batch["id"]]}

    dataset = ray.data.range(100, override_num_blocks=5).map_batches(slow_first)
    source = from_dataset(dataset, columns(text="text"), 2)
    texts = [text for loader in source.loaders for text in Loaded(loader).texts]
    assert texts == [f"t{number}" for number in range(100)]
    assert not dataset.context.execution_options.preserve_order


@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_matrices_on_the_nodes(cluster, rows, weights, n_shards):
    refs = [ray.put(rows[:30]), ray.put(rows[30:70]), ray.put(rows[70:])]
    parts = [ray.put(weights[:30]), ray.put(weights[30:70]), ray.put(weights[70:])]
    source = from_matrices(refs, parts, n_shards)
    loaded = [Loaded(loader) for loader in source.loaders]
    assert len(loaded) == n_shards and source.n_features == 40
    assert (sparse.vstack([part.matrix for part in loaded]) != rows).nnz == 0
    assert np.array_equal(np.concatenate([part.weights for part in loaded]), weights)
    assert Loaded(from_matrices(refs, None, 1).loaders[0]).weights is None


def test_no_shard_is_without_rows(cluster, rows):
    assert len(from_matrices([ray.put(rows[:3])], None, 10).loaders) == 3


def test_mistakes_are_refused_with_their_cause(cluster, rows):
    dataset = ray.data.from_items([{"i": [1], "v": [1.0, 2.0], "text": None}], override_num_blocks=1)
    with pytest.raises(docsphere.ParameterError, match='no column "body", only i, v, text'):
        from_dataset(dataset, columns(text="body"), 1)
    with pytest.raises(docsphere.ParameterError, match="go together"):
        from_dataset(dataset, columns(indices="i"), 1)
    with pytest.raises(docsphere.ParameterError, match='"text" must hold texts, got None in row 0'):
        Loaded(from_dataset(dataset, columns(text="text"), 1).loaders[0])
    with pytest.raises(docsphere.MatrixError, match="equal length, got 1 and 2"):
        Loaded(from_dataset(dataset, columns(indices="i", values="v"), 1).loaders[0])
    with pytest.raises(docsphere.MatrixError, match="same number of columns"):
        from_matrices([ray.put(rows), ray.put(rows[:, :5])], None, 1)
    with pytest.raises(docsphere.ParameterError, match="100 values for matrix 0, got 3"):
        from_matrices([ray.put(rows)], [ray.put(np.ones(3))], 1)
