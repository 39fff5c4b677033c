"""How the coordinator of a cluster reaches its workers.

The coordinator is compiled: it makes every request and reads every answer. An executor only
carries bytes, so a page of Python is enough for each kind of cluster. Here are threads and
processes of one machine; `docsphere.ray` has the actors of a Ray cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from . import _docsphere
from ._errors import ClusterError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ._docsphere import ShardWorker


class Worker(Protocol):
    """Owns the rows of one shard, and answers requests about them."""

    def handle(self, request: bytes, shared: bytes, /) -> bytes:
        """Return the answer to a request. Failures are part of the answer."""


# Makes the worker of a shard, with its own data if it has some. A worker that has died is made
# again by the same call. It must be possible to pickle it.
MakeWorker: TypeAlias = Callable[[], Worker]


class Executor(Protocol):
    """Carries requests to workers. `ThreadExecutor` is the shortest example."""

    @property
    def n_shards(self) -> int:
        """The number of workers."""

    def call(self, requests: Sequence[bytes | None], shared: bytes) -> Iterator[tuple[int, bytes]]:
        """Send each worker its request, and yield answers as they arrive.

        Worker i gets ``requests[i]``, or nothing if that is None, and `shared`, the same bytes for
        all. Each request is delivered at least once: a worker that died is made again, and gets
        its request again. Its answer tells the coordinator that it has lost its state.
        """


@dataclass(frozen=True)
class MakeShard:
    """Makes the compiled worker of one shard."""

    n_threads: int
    # A folder for the texts of the shard, on the worker's machine; None is its folder for temporary
    # files.
    scratch: str | None = None
    # Gives the worker its own data; None for a worker that reads files.
    load: Callable[[ShardWorker], object] | None = None

    def __call__(self) -> ShardWorker:
        """Return a new worker."""
        worker = _docsphere.ShardWorker(self.n_threads, self.scratch or gettempdir())
        if self.load is not None:
            self.load(worker)
        return worker


class ThreadExecutor:
    """Workers in this process, each called on a thread of its own."""

    def __init__(self, makers: Sequence[MakeWorker]) -> None:
        self.workers = [make() for make in makers]
        self.n_shards = len(self.workers)
        self._pool = ThreadPoolExecutor(self.n_shards, thread_name_prefix="docsphere-shard")

    def call(self, requests: Sequence[bytes | None], shared: bytes) -> Iterator[tuple[int, bytes]]:
        """Send requests, and yield answers."""
        pending = {
            self._pool.submit(worker.handle, request, shared): shard
            for shard, (worker, request) in enumerate(zip(self.workers, requests, strict=True))
            if request is not None
        }
        for answered in as_completed(pending):
            yield pending[answered], answered.result()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)


class ProcessExecutor:
    """Workers in processes of their own, reached through pipes. A process that died is replaced."""

    def __init__(self, makers: Sequence[MakeWorker], *, max_restarts: int = 3) -> None:
        self.n_shards = len(makers)
        # How often a worker may die in one call before that is an error.
        self.max_restarts = max_restarts
        self.processes = [_Process(make) for make in makers]
        self._n_calls = 0

    def call(self, requests: Sequence[bytes | None], shared: bytes) -> Iterator[tuple[int, bytes]]:
        """Send requests, and yield answers."""
        self._n_calls += 1
        pending = {shard: request for shard, request in enumerate(requests) if request is not None}
        deaths = dict.fromkeys(pending, 0)
        for shard, request in pending.items():
            self.processes[shard].send(self._n_calls, request, shared)
        while pending:
            pipes = {self.processes[shard].pipe: shard for shard in pending}
            for pipe in connection.wait(list(pipes)):
                shard = pipes[pipe]  # type: ignore[index]
                try:
                    number, answer = self.processes[shard].pipe.recv()
                except (EOFError, OSError):
                    deaths[shard] += 1
                    if deaths[shard] > self.max_restarts:
                        raise ClusterError(
                            f"shard {shard}: its process has died {deaths[shard]} times during one request"
                        ) from None
                    self.processes[shard].restart()
                    self.processes[shard].send(self._n_calls, pending[shard], shared)
                    continue
                if number != self._n_calls:
                    continue  # The answer to a call that was abandoned.
                if isinstance(answer, Exception):
                    raise answer
                del pending[shard]
                yield shard, answer

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.end()


class _Process:
    """A process with a worker, and the pipe to it."""

    pipe: Connection[Any, Any]

    def __init__(self, make: MakeWorker) -> None:
        self._make = make
        self._start()

    def restart(self) -> None:
        self.end()
        self._start()

    def _start(self) -> None:
        spawn = get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_serve, args=(theirs, self._make), daemon=True)
        self.process.start()
        # With this end open, the death of the process would go unnoticed.
        theirs.close()

    def send(self, number: int, request: bytes, shared: bytes) -> None:
        # If it has died, reading the answer notices it.
        with suppress(OSError):
            self.pipe.send((number, request, shared))

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection[Any, Any], make: MakeWorker) -> None:
    """Answer requests until the other end is closed."""
    worker: Worker | None = None
    while True:
        try:
            number, request, shared = pipe.recv()
        except EOFError:
            return
        answer: bytes | Exception
        try:
            worker = worker or make()
            answer = worker.handle(request, shared)
        except Exception as error:
            answer = error
        pipe.send((number, answer))
