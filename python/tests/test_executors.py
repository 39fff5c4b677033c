"""Executors carry each request to its worker, and its answer back."""

from __future__ import annotations

import subprocess
import sys

import pytest

import docsphere
from docsphere._executors import ProcessExecutor, ThreadExecutor
from fake_worker import MakeFailure, answers, makers


@pytest.fixture(params=[ThreadExecutor, ProcessExecutor])
def executor(request):
    executor = request.param(makers(3))
    yield executor
    executor.close()


@pytest.fixture
def processes():
    executor = ProcessExecutor(makers(2), max_restarts=2)
    yield executor
    executor.close()


def test_every_worker_answers_its_own_request(executor):
    assert executor.n_shards == 3
    answers(executor, [b"a", b"b", b"c"], b"shared")
    answers(executor, [b"d", None, b"e"])
    last = answers(executor, [b"f", b"g", b"h"], bytes(10_000_000))
    assert [last[shard].n_answers for shard in range(3)] == [3, 2, 3]
    assert answers(executor, [None, None, None]) == {}


def test_answers_are_given_as_they_arrive(executor):
    answers(executor, [b"start", b"start", b"start"])
    arrived = executor.call([b"sleep 1", b"a", None], b"")
    assert [shard for shard, _ in arrived] == [1, 0]


def test_an_abandoned_call_does_not_answer_the_next(executor):
    abandoned = executor.call([b"sleep 0.3", b"a", b"b"], b"")
    next(abandoned)
    abandoned.close()
    answers(executor, [b"c", b"d", b"e"], b"shared")


def test_a_process_that_died_is_replaced(processes, tmp_path):
    answers(processes, [b"a", b"b"])
    once = f"die-once {tmp_path / 'died'}".encode()
    answered = answers(processes, [once, b"c"], b"shared")
    assert (answered[0].n_answers, answered[1].n_answers) == (1, 2)


def test_a_process_that_died_between_calls_is_replaced(processes):
    answers(processes, [b"a", b"b"])
    processes.processes[1].process.kill()
    processes.processes[1].process.join()
    answered = answers(processes, [b"c", b"d"])
    assert (answered[0].n_answers, answered[1].n_answers) == (2, 1)


def test_a_process_that_dies_again_and_again_is_an_error(processes):
    with pytest.raises(docsphere.ClusterError, match=r"shard 1.*died 3 times"):
        answers(processes, [b"a", b"die"])


def test_the_error_of_a_loader_is_what_it_was():
    executor = ProcessExecutor([MakeFailure()])
    with pytest.raises(docsphere.MatrixError, match="row 7"):
        answers(executor, [b"a"])
    executor.close()


def test_docsphere_does_not_import_ray():
    program = "import docsphere, docsphere._executors, sys; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_ray_the_extra_is_named():
    program = "import sys; sys.modules['ray'] = None; import docsphere.ray"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode != 0 and "pip install docsphere[ray]" in ended.stderr
