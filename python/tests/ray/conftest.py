"""A Ray cluster of several nodes on this machine, one for all tests."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import pytest

# Before Ray is imported. Token authentication is what a cluster of any care has; the token is this
# suite's own, and is written nowhere.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

# The fakes are imported here and in the processes of the cluster.
TESTS = str(Path(__file__).parents[1])
sys.path.insert(0, TESTS)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (TESTS, os.environ.get("PYTHONPATH"))))

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    if os.environ.get("DOCSPHERE_WITHOUT_RAY") != "1":
        pytest.exit("Ray is not installed: make ray installs it; DOCSPHERE_WITHOUT_RAY=1 leaves these tests out", 1)
    print("\nRAY IS NOT INSTALLED: all tests of docsphere.ray are LEFT OUT", file=sys.stderr)
    collect_ignore_glob = ["test_*.py"]

SETTINGS = {
    # A dead node is noticed within two seconds rather than fifteen.
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 5000,
    "health_check_failure_threshold": 2,
    # Workers have the priority of everything else that runs meanwhile.
    "worker_niceness": 0,
    # Processes of tasks are used again. By default they end after a second.
    "idle_worker_killing_time_threshold_ms": 600_000,
}
STORE_BYTES = 128 * 1024 * 1024


class LocalCluster:
    """Nodes that can be killed, and a head without any CPU, which cannot."""

    def __init__(self, n_nodes: int, cpus_per_node: int = 4) -> None:
        self.cpus_per_node = cpus_per_node
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": SETTINGS}
        self.cluster = Cluster(initialize_head=True, head_node_args=head | {"object_store_memory": STORE_BYTES})
        for _ in range(n_nodes):
            self.add_node(wait=False)
        self.cluster.wait_for_nodes()
        ray.init(address=self.cluster.address, logging_level="ERROR", log_to_driver=False)

    @property
    def address(self) -> str:
        return self.cluster.address

    def add_node(self, wait: bool = True) -> None:
        self.cluster.add_node(wait, num_cpus=self.cpus_per_node, object_store_memory=STORE_BYTES)

    def kill_node(self, where: str) -> None:
        """Kill a node, named as in `RayExecutor.nodes`, with all its processes, and start an empty one."""
        node = next(node for node in self.cluster.worker_nodes if node.node_id[:8] in where)
        self.cluster.remove_node(node, allow_graceful=False)
        self.add_node()

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="session")
def cluster():
    cluster = LocalCluster(2)
    yield cluster
    cluster.close()


@pytest.fixture
def executors(monkeypatch):
    """The executors that are started in a test."""
    from docsphere.ray import _run

    started = []

    def start(*arguments):
        started.append(executor(*arguments))
        return started[-1]

    executor = _run.RayExecutor
    monkeypatch.setattr(_run, "RayExecutor", start)
    return started
