"""Actors get their requests whatever dies, and an error says what to do where that is impossible."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import ray

import docsphere
from docsphere.ray import _executor
from docsphere.ray._executor import Placement, RayExecutor
from fake_worker import MakeFailure, MakeOwner, answers, makers


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def executor(cluster, told):
    executor = RayExecutor(makers(3), Placement(max_deaths=2, patience=1.0, restart_timeout=60.0), told.append)
    yield executor
    executor.close()


@pytest.fixture(autouse=True)
def _forget(told):
    told.clear()


def test_every_worker_answers_its_own_request(executor):
    before = answers(executor, [b"a", b"b", b"c"], b"shared")
    answers(executor, [b"d", None, b"e"])
    after = answers(executor, [b"f", b"g", b"h"])
    assert [after[shard].n_answers - before[shard].n_answers for shard in range(3)] == [2, 1, 2]
    assert answers(executor, [None, None, None]) == {}


def test_workers_do_not_import_scikit_learn():
    code = "import sys, docsphere.ray._executor, docsphere.ray._data; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_shards_are_spread_over_nodes(executor):
    assert len({node.partition(",")[0] for node in executor.nodes}) == 2


def test_long_bytes_are_put_into_the_store_once(executor, monkeypatch):
    put, lengths = ray.put, []
    monkeypatch.setattr(ray, "put", lambda value: lengths.append(len(value)) or put(value))
    answers(executor, [b"a", b"b", b"c"], b"s" * 60_000)
    assert lengths == []
    answers(executor, [b"a", b"b", b"c"], b"s" * 5_000_000)
    assert lengths == [5_000_000]


def test_the_store_is_freed_after_each_call(executor):
    for _ in range(3):
        answers(executor, [b"a", b"b", b"c"], bytes(30_000_000))
    # Nodes report now and then what their stores hold: once they report this, all else was freed.
    kept = ray.put(bytes(20_000_000))
    deadline = time.monotonic() + 20
    while not 20_000_000 <= used_bytes() < 30_000_000:
        assert time.monotonic() < deadline, f"the stores hold {used_bytes():,} bytes"
        time.sleep(0.1)
    del kept


def used_bytes():
    name = "object_store_memory"
    return ray.cluster_resources()[name] - ray.available_resources().get(name, 0)


def test_long_requests_and_answers_arrive(executor):
    long = {shard: len(answer) for shard, answer in executor.call([b"answer-long 30000000", None, b"a"], b"")}
    assert long[0] == 30_000_000
    answers(executor, [b"x" * 3_000_000, None, None])


def test_answers_are_given_as_they_arrive(executor):
    arrived = executor.call([b"sleep 1", b"a", None], b"")
    assert [shard for shard, _ in arrived] == [1, 0]


def test_a_slow_shard_is_told_once(executor, told):
    executor.stage = "iteration 7"
    answers(executor, [b"sleep 2.5", b"a", b"b"])
    assert len(told) == 1
    assert "iteration 7: still waiting for 1 of 3 shards: 0 (node" in told[0]


def test_a_process_that_died_is_started_again(executor, told, tmp_path):
    answers(executor, [b"a", b"b", b"c"])
    once = f"die-once {tmp_path / 'died'}".encode()
    answered = answers(executor, [once, b"d", None], b"s" * 100_000)
    assert answered[0].n_answers == 1 and answered[1].n_answers > 1
    assert any("shard 0" in line and "lost" in line for line in told)


def test_a_process_that_died_between_calls_is_started_again(executor):
    answers(executor, [b"a", b"b", b"c"])
    os.kill(int(executor.nodes[1].rpartition(" ")[2]), signal.SIGKILL)
    answered = answers(executor, [b"a", b"b", b"c"])
    assert answered[1].n_answers == 1 and answered[0].n_answers > 1


def test_a_lost_node_is_replaced(cluster, executor, told):
    answers(executor, [b"a", b"b", b"c"])
    arrived = executor.call([b"sleep 2", b"sleep 2", b"sleep 2"], b"s" * 100_000)
    time.sleep(0.5)
    cluster.kill_node(executor.nodes[0])
    assert sorted(shard for shard, _ in arrived) == [0, 1, 2]
    assert any("lost" in line for line in told)
    answers(executor, [b"a", b"b", b"c"])


def test_a_worker_that_dies_again_and_again_is_an_error(executor):
    executor.stage = "iteration 3"
    with pytest.raises(docsphere.ClusterError, match=r"iteration 3: shard 1 on node .*died 3 times(.|\n)*more shards"):
        answers(executor, [b"a", b"die", None])
    answers(executor, [b"a", b"b", b"c"])


def test_no_room_is_an_error_that_says_so(cluster):
    with pytest.raises(docsphere.ClusterError, match="needs 64 CPUs on one node"):
        RayExecutor(makers(1), Placement(num_cpus=64, restart_timeout=3.0))


def test_the_error_of_a_loader_is_what_it_was(cluster):
    with pytest.raises(docsphere.MatrixError, match=r"shard 0 .*row 7"):
        RayExecutor([MakeFailure()])


def test_another_version_on_a_node_is_an_error_that_says_so(cluster, monkeypatch):
    monkeypatch.setattr(_executor, "__version__", "0.0.9")
    with pytest.raises(docsphere.ClusterError, match=r"node .* has docsphere .*, the driver has 0.0.9"):
        RayExecutor(makers(1))


def ask_for_a_minute(actor):
    """Ray kills in the background: until then the actor answers."""
    for _ in range(600):
        ray.get(actor.handle.remote(b"a", b""))
        time.sleep(0.1)


def test_an_actor_that_somebody_killed_is_an_error(cluster):
    executor = RayExecutor(makers(2))
    ray.kill(executor.actors[1])
    with pytest.raises(ray.exceptions.RayActorError):
        ask_for_a_minute(executor.actors[1])
    with pytest.raises(docsphere.ClusterError, match=r"shard 1(.|\n)*ray.kill"):
        answers(executor, [b"a", b"b"])
    executor.close()


def test_own_data_is_loaded_again(cluster, tmp_path):
    executor = RayExecutor([MakeOwner(ray.put(shard)) for shard in range(2)])
    once = f"die-once {tmp_path / 'died'}".encode()
    assert answers(executor, [b"a", once])[1].n_answers == 1
    executor.close()


def test_a_full_store_is_an_error_that_says_so(executor, monkeypatch):
    def full(value):
        raise ray.exceptions.ObjectStoreFullError("full")

    monkeypatch.setattr(ray, "put", full)
    with pytest.raises(docsphere.ClusterError, match="object-store-memory"):
        answers(executor, [b"a", b"b", b"c"], bytes(100_000))
