"""A worker that does as it is told, for tests of executors."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from docsphere import MatrixError


class Answer(NamedTuple):
    """What a fake worker answers."""

    shard: int
    # Requests that it has answered since it was made, with this one.
    n_answers: int
    request: bytes
    shared: str

    @staticmethod
    def read(answer: bytes) -> Answer:
        shard, n_answers, request, shared = answer.split(b"|")
        return Answer(int(shard), int(n_answers), request, shared.decode())


def digest(shared: bytes) -> str:
    return hashlib.sha256(shared).hexdigest()


class FakeWorker:
    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.n_answers = 0

    def handle(self, request: bytes, shared: bytes) -> bytes:
        command, _, argument = request.decode().partition(" ")
        if command == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if command == "die-once" and not Path(argument).exists():
            Path(argument).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if command == "sleep":
            time.sleep(float(argument))
        if command == "answer-long":
            return b"x" * int(argument)
        self.n_answers += 1
        return b"%d|%d|%s|%s" % (self.shard, self.n_answers, request, digest(shared).encode())


@dataclass(frozen=True)
class MakeFake:
    shard: int

    def __call__(self) -> FakeWorker:
        return FakeWorker(self.shard)


@dataclass(frozen=True)
class MakeFailure:
    """Fails as a loader does that is given a damaged matrix."""

    def __call__(self) -> FakeWorker:
        raise MatrixError("row 7: column 9 is twice there")


@dataclass(frozen=True)
class MakeOwner:
    """Gets its data, the number of its shard, from a Ray cluster."""

    data: Any

    def __call__(self) -> FakeWorker:
        import ray

        return FakeWorker(ray.get(self.data))


def makers(n_shards: int) -> list[MakeFake]:
    return [MakeFake(shard) for shard in range(n_shards)]


def answers(executor, requests: list[bytes | None], shared: bytes = b"") -> dict[int, Answer]:
    """Call all workers, and check that each answers once, for itself."""
    arrived = [(shard, Answer.read(answer)) for shard, answer in executor.call(requests, shared)]
    assert sorted(shard for shard, _ in arrived) == [shard for shard, request in enumerate(requests) if request]
    for shard, answer in arrived:
        assert (answer.shard, answer.request, answer.shared) == (shard, requests[shard], digest(shared))
    return dict(arrived)
