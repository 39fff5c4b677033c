"""The connection to a cluster, and how many shards its nodes have room for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import ray

from .._checks import positive
from .._errors import ClusterError


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster for a while, unless this process is connected already."""
    if ray.is_initialized():
        yield
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level="WARNING")
    except ConnectionError as error:
        raise ClusterError(
            f"no Ray cluster at address={address!r}: {error}\n"
            'Start one (`ray start --head`), or give address="local" for one on this machine alone.'
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def shards_and_threads(num_shards: int | None, n_threads: int | None) -> tuple[int, int]:
    """Return how many shards there are, and how many threads each has.

    By default there is one shard per node, as large as the smallest node. If only the number of
    shards is given, each gets as many CPUs as there is room for.
    """
    cpus = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    cpus = [count for count in cpus if count > 0]
    if not cpus:
        raise ClusterError("no node of the Ray cluster has CPUs to offer")
    if n_threads is not None:
        n_threads = positive("n_threads", n_threads)
        rooms = sum(count // n_threads for count in cpus)
        return (max(1, rooms) if num_shards is None else positive("num_shards", num_shards)), n_threads
    if num_shards is None:
        return len(cpus), min(cpus)
    num_shards = positive("num_shards", num_shards)
    fitting = [size for size in range(1, max(cpus) + 1) if sum(count // size for count in cpus) >= num_shards]
    if not fitting:
        raise ClusterError(
            f"num_shards={num_shards}, but the cluster has {sum(cpus)} CPUs, and every shard needs one; use fewer "
            "shards, or give n_threads and wait for more nodes"
        )
    return num_shards, max(fitting)
