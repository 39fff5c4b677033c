"""The actors of a Ray cluster as workers.

Every shard is an actor. Ray restarts an actor whose process or node died, on any node with room
for it. Requests are sent again from here rather than by Ray: so deaths can be counted and told,
and a request that always kills its worker ends in an error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray import exceptions

from .._docsphere import __version__
from .._errors import ClusterError, DocsphereError
from .._executors import MakeWorker, Worker

# Shared bytes up to this length travel inside of each request; longer ones are put into the object
# store once, from which every node fetches them once.
_INLINE_BYTES = 64 * 1024
# Seconds between two attempts to start the worker of an actor that Ray is restarting.
_START_SECONDS = 0.25
# An actor's process or node died, or cannot be reached at the moment.
_LOST = (
    exceptions.RayActorError,
    exceptions.OutOfMemoryError,
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.RpcError,
)


@dataclass(frozen=True)
class Placement:
    """What every shard gets of its node, and how long to wait for it."""

    # CPUs that are reserved per shard; its threads should be as many.
    num_cpus: float = 1
    # Bytes of memory that are reserved per shard.
    memory: int | None = None
    # Custom resources that are reserved per shard.
    resources: dict[str, float] | None = None
    # Seconds until an actor that does not start, or start again, is an error.
    restart_timeout: float = 600.0
    # How often a worker may die during one request before that is an error.
    max_deaths: int = 5
    # Seconds after which shards that have not answered are told, once per call.
    patience: float = 30.0


class _NotStarted(Exception):
    """Ray has restarted the actor, and its worker is not made yet."""


class _Shard:
    """The actor of a shard.

    Its worker is made by a method, not by the constructor: errors keep their type, and Ray does
    not fetch arguments of constructors again if the node that had them is lost.
    """

    def __init__(self) -> None:
        self.worker: Worker | None = None

    def start(self, make: MakeWorker, version: str) -> str:
        """Make the worker unless there is one. Returns the node, in the words of a message."""
        node = ray.get_runtime_context().get_node_id()
        where = f"node {ray.util.get_node_ip_address()} ({node[:8]}), process {os.getpid()}"
        if version != __version__:
            raise ClusterError(f"{where} has docsphere {__version__}, the driver has {version}; install the same")
        if self.worker is None:
            self.worker = make()
        return where

    def handle(self, request: bytes, shared: bytes) -> bytes:
        """Answer a request."""
        if self.worker is None:
            raise _NotStarted("its process was started again")
        return self.worker.handle(request, shared)


class RayExecutor:
    """Workers in actors of a Ray cluster. Ray must be connected.

    `tell` gets a line for a person whenever something is amiss: a lost node, a slow shard.
    """

    def __init__(
        self,
        makers: Sequence[MakeWorker],
        placement: Placement | None = None,
        tell: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.n_shards = len(makers)
        self.makers = makers
        self.placement = placement or Placement()
        self.tell = tell
        # What the run is doing, for error messages.
        self.stage = "starting"
        actor = ray.remote(_Shard).options(
            num_cpus=self.placement.num_cpus,
            memory=self.placement.memory,
            resources=self.placement.resources,
            scheduling_strategy="SPREAD",
            max_restarts=-1,
            max_task_retries=0,
        )
        self.actors = [actor.remote() for _ in makers]
        self.nodes = ["a node that is not known yet"] * self.n_shards
        try:
            _Round(self, {shard: None for shard in range(self.n_shards)}, b"").wait_until_started()
        except BaseException:
            self.close()
            raise

    def call(self, requests: Sequence[bytes | None], shared: bytes) -> Iterator[tuple[int, bytes]]:
        """Send requests, and yield answers."""
        wanted: dict[int, bytes | None] = {
            shard: request for shard, request in enumerate(requests) if request is not None
        }
        return _Round(self, wanted, shared).answers()

    def close(self) -> None:
        """End all actors."""
        for actor in self.actors:
            ray.kill(actor)
        self.actors = []


@dataclass
class _Outage:
    """A shard that does not answer."""

    since: float
    next_start: float
    why: str


@dataclass
class _Round:
    """One call of all workers."""

    executor: RayExecutor
    requests: dict[int, bytes | None]
    shared: bytes
    # What was sent and not yet answered: requests, and calls to start workers.
    sent: dict[Any, int] = field(default_factory=dict)
    starts: dict[Any, int] = field(default_factory=dict)
    outages: dict[int, _Outage] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.placement = self.executor.placement
        self.told_at = time.monotonic() + self.placement.patience
        self.argument: Any = self.shared
        if len(self.shared) > _INLINE_BYTES:
            self.argument = _put(self.shared)

    def wait_until_started(self) -> None:
        """Start every worker."""
        now = time.monotonic()
        for shard in self.requests:
            self.outages[shard] = _Outage(now, now, "it has not started")
        while self.outages:
            for _ in self._step():
                pass

    def answers(self) -> Iterator[tuple[int, bytes]]:
        """Send all requests, and yield answers as they arrive."""
        for shard in self.requests:
            self._send(shard)
        while self.sent or self.outages:
            yield from self._step()

    def _send(self, shard: int) -> None:
        self.sent[self.executor.actors[shard].handle.remote(self.requests[shard], self.argument)] = shard

    def _step(self) -> Iterator[tuple[int, bytes]]:
        """Wait for anything to happen, and deal with it."""
        now = time.monotonic()
        for shard, outage in self.outages.items():
            if outage.next_start <= now and shard not in self.starts.values():
                actor, make = self.executor.actors[shard], self.executor.makers[shard]
                self.starts[actor.start.remote(make, __version__)] = shard
        waiting = [*self.sent, *self.starts]
        if waiting:
            ready, _ = ray.wait(waiting, timeout=self._seconds(now))
        else:
            time.sleep(self._seconds(now))
            ready = []
        for ref in ready:
            if ref in self.starts:
                self._started(ref)
            else:
                yield from self._answered(ref)
        self._look_at_the_clock()

    def _seconds(self, now: float) -> float:
        """Return how long nothing is to be done but to wait."""
        until = [now + 5.0, self.told_at]
        until += [outage.next_start for shard, outage in self.outages.items() if shard not in self.starts.values()]
        return max(0.0, min(until) - now)

    def _answered(self, ref: Any) -> Iterator[tuple[int, bytes]]:
        shard = self.sent.pop(ref)
        try:
            answer: bytes = ray.get(ref)
        except _LOST as error:
            self._lost(shard, error)
            return
        except exceptions.RayError as error:
            if not isinstance(error, _NotStarted):
                raise _failure(error, self._named(shard)) from None
            self._lost(shard, error)
            return
        self.deaths.pop(shard, None)
        yield shard, answer

    def _lost(self, shard: int, error: Exception) -> None:
        deaths = self.deaths[shard] = self.deaths.get(shard, 0) + 1
        why = _first_line(error)
        if deaths > self.placement.max_deaths:
            raise ClusterError(
                f"{self._named(shard)}: the worker has died {deaths} times during one request: {why}\n{_ADVICE}"
            ) from error
        self.executor.tell(f"{self._named(shard)}: lost ({why}); waiting for Ray to start it again")
        now = time.monotonic()
        self.outages[shard] = _Outage(now, now, why)

    def _started(self, ref: Any) -> None:
        shard = self.starts.pop(ref)
        outage = self.outages[shard]
        try:
            self.executor.nodes[shard] = ray.get(ref)
        except exceptions.ActorDiedError as error:
            hint = ""
            if "No module named 'docsphere" in str(error):
                hint = "\nInstall docsphere on every node, in the version of the driver."
            raise ClusterError(f"{self._named(shard)}: Ray has given up the actor: {error}{hint}") from error
        except _LOST:
            outage.next_start = time.monotonic() + _START_SECONDS
            return
        except exceptions.RayError as error:
            raise _failure(error, self._named(shard)) from None
        del self.outages[shard]
        if self.requests[shard] is not None:
            self.executor.tell(f"{self._named(shard)}: has started again; it is given its data again")
            self._send(shard)

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        for shard, outage in self.outages.items():
            if now - outage.since > self.placement.restart_timeout:
                raise ClusterError(
                    f"{self._named(shard)}: no answer for {self.placement.restart_timeout:g} seconds: {outage.why}. "
                    f"{_room(self.placement)}\n{_ADVICE}"
                )
        if now >= self.told_at:
            self.told_at = float("inf")
            late = sorted({*self.sent.values(), *self.outages})
            names = ", ".join(f"{shard} ({self.executor.nodes[shard]})" for shard in late[:5])
            more = f" and {len(late) - 5} more" if len(late) > 5 else ""
            hint = f". {_room(self.placement)}" if self.outages else ""
            self.executor.tell(
                f"{self.executor.stage}: still waiting for {len(late)} of {self.executor.n_shards} shards: "
                f"{names}{more}{hint}"
            )

    def _named(self, shard: int) -> str:
        return f"{self.executor.stage}: shard {shard} on {self.executor.nodes[shard]}"


_ADVICE = (
    "If its node ran out of memory, use more shards, nodes with more memory, or reserve memory per shard; "
    "`ray logs` has the last words of the process."
)


def _put(shared: bytes) -> Any:
    try:
        return ray.put(shared)
    except exceptions.ObjectStoreFullError:
        raise _store_full(f"{len(shared):,} bytes for all shards") from None


def _store_full(who: str) -> ClusterError:
    return ClusterError(
        f"{who}: Ray's object store is full. Start the nodes with more of it (`ray start --object-store-memory`)"
    )


def _failure(error: exceptions.RayError, who: str) -> Exception:
    """Return an error of docsphere as what it was in the worker, and others as a `ClusterError`."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, DocsphereError):
        return type(cause)(f"{who}: {cause}")
    if isinstance(error, exceptions.ObjectStoreFullError):
        return _store_full(who)
    return ClusterError(f"{who}: {error}")


def _first_line(error: Exception) -> str:
    """Return the line of an error of Ray that says most: the reason, which is the last, or the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "dead because" in line or "memory" in line]
    return (reasons or lines or [type(error).__name__])[0]


def _room(placement: Placement) -> str:
    """Return what the cluster has free, for those who wait for a place."""
    free = ray.available_resources()
    needs = f"A shard needs {placement.num_cpus:g} CPUs"
    if placement.memory is not None:
        needs += f" and {placement.memory:,} bytes of memory"
    return f"{needs} on one node; {free.get('CPU', 0):g} CPUs are free in the whole cluster"
