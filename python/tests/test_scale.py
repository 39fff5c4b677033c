"""What only shows at some size: memory, threads, Ctrl-C."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import random_rows
from docsphere import SphericalKMeans

BIG = """
    import resource, sys
    import numpy as np
    from scipy import sparse
    from docsphere import SphericalKMeans

    rng = np.random.default_rng(0)
    def rows(n_rows, n_terms, per_row):
        # Columns ascend in each row: one from each of per_row ranges.
        width = n_terms // per_row
        indices = rng.integers(0, width, (n_rows, per_row), dtype=np.int32)
        indices += np.arange(per_row, dtype=np.int32) * width
        values = np.full(n_rows * per_row, 1 / np.sqrt(per_row), np.float32)
        offsets = np.arange(n_rows + 1, dtype=np.int64) * per_row
        return sparse.csr_matrix((values, indices.ravel(), offsets), shape=(n_rows, n_terms))
"""


def run(code: str) -> subprocess.CompletedProcess:
    code = textwrap.dedent(BIG) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_values_in_f32_cross_without_a_copy():
    """The peak of the process during `predict` grows by less than the values take.

    In f64 they have to be converted, and it does grow.
    """
    ended = run("""
        X = rows(1_000_000, 6_400, 64)
        model = SphericalKMeans(2, max_iter=1, random_state=0).fit(X[:1000])
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = peak()
        model.predict(X)
        print(peak() - before, X.data.nbytes)
        X64 = X.astype(np.float64)
        before = peak()
        model.predict(X64)
        print(peak() - before)
    """)
    grown, values, grown_f64 = map(int, ended.stdout.split())
    assert values == 256_000_000
    assert grown < values / 4, "labels and similarities alone"
    assert grown_f64 > values / 2, "the measure does see a copy"


def test_other_threads_go_on():
    X = random_rows(5000, 400)
    # The best of three: a machine that others use, too, wakes a thread late now and then.
    rates = []
    while len(rates) < 3 and max(rates, default=0) <= 100:
        rates.append(ticks_a_second(X))
    assert max(rates) > 100, f"{rates} ticks a second"


def ticks_a_second(X):
    done = threading.Event()
    ticks = 0

    def cluster():
        SphericalKMeans(300, n_init=20, tol=0, random_state=0).fit(X)
        done.set()

    thread = threading.Thread(target=cluster)
    start = time.perf_counter()
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    return ticks / (time.perf_counter() - start)


def test_two_fits_at_once_change_nothing():
    X = random_rows(2000, 300)
    expected = SphericalKMeans(50, random_state=0).fit(X).labels_
    results = [None] * 4

    def cluster(number):
        results[number] = SphericalKMeans(50, random_state=0, n_jobs=2).fit(X).labels_

    threads = [threading.Thread(target=cluster, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)


def test_parts_of_many_rows_are_put_together():
    X = random_rows(40_000, 40, density=0.2)
    X.data[X.indptr[20_000] : X.indptr[20_002]] = 0
    model = SphericalKMeans(20, random_state=0, n_jobs=2).fit(X)
    assert (model.labels_ == -1).sum() == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    nearest, every = model.transform(X, top_m=1), model.transform(X)
    assert nearest.shape == every.shape == (40_000, 20)
    np.testing.assert_array_equal(nearest.max(axis=1).toarray().ravel(), every.max(axis=1))


@pytest.mark.parametrize(
    ("n_rows", "n_threads", "call"),
    [
        (400_000, 2, "SphericalKMeans(5000, n_init=1000, tol=0, n_jobs=2, random_state=0).fit(X)"),
        (4_000_000, 1, "model.predict(X)"),
        (4_000_000, 1, "model.transform(X, top_m=2)"),
    ],
)
def test_ctrl_c_ends_a_call_within_a_second(n_rows, n_threads, call):
    code = textwrap.dedent(BIG) + textwrap.dedent(f"""
        X = rows({n_rows}, 20_000, 30)
        model = SphericalKMeans(2000, max_iter=1, init="random", algorithm="inverted", random_state=0).fit(X[:20_000])
        print("ready", flush=True)
        {call}
    """)
    # A second of work by each thread: on a machine that others use, too, that may take longer than
    # a second.
    assert cpu_seconds_until_interrupted(code) < n_threads


def cpu_seconds_until_interrupted(code):
    """The CPU seconds that a process takes to end after Ctrl-C."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        # Until it is in the middle of the call.
        called = cpu_seconds(process.pid)
        while process.poll() is None and cpu_seconds(process.pid) < called + 2:
            time.sleep(0.05)
        assert process.poll() is None, process.stderr.read()
        earlier_children = children_seconds()
        before = cpu_seconds(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in process.stderr.read()
    return children_seconds() - earlier_children - before


def cpu_seconds(pid):
    """The CPU seconds of a process that runs. Linux only, as all of this file."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    """The CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
