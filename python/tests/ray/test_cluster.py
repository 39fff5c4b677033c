"""Files are clustered as by the command ``docsphere cluster``, whatever dies meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import ray

import docsphere
import docsphere.ray
from docsphere.ray import _run
from results import assert_same, assignments, command_result

CORPUS = Path(__file__).parents[3] / "crates" / "docsphere-cli" / "corpora" / "everyday.jsonl"
OPTIONS = ("-k", "20", "--init", "k-means++", "--seed", "3", "--min-df", "2", "--tol", "0")


def run(inputs, output, **options):
    """Cluster files with the same options."""
    given = {"n_clusters": 20, "random_state": 3, "tol": 0.0, "vectorizer": docsphere.TextVectorizer(min_df=2)}
    # Many calls of seeding, and several iterations.
    given |= {"init": "k-means++"}
    given |= {"num_shards": 2, "n_threads": 1, "restart_timeout": 60.0}
    return docsphere.ray.cluster(inputs, output=output, **given | options)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The corpus in three files of different length."""
    folder = tmp_path_factory.mktemp("inputs")
    lines = CORPUS.read_text(encoding="utf-8").splitlines(keepends=True)
    paths = [folder / name for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    for path, part in zip(paths, (lines[:30], lines[30:300], lines[300:]), strict=True):
        path.write_text("".join(part), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def expected(command, inputs, tmp_path_factory):
    """The result of the command."""
    return command_result(command, inputs, tmp_path_factory.mktemp("expected") / "out", *OPTIONS)


@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_the_result_is_that_of_the_command(cluster, inputs, expected, tmp_path, n_shards):
    fit = run(inputs, tmp_path / "out", num_shards=n_shards)
    assert_same(tmp_path / "out", expected)
    assert fit.converged and fit.n_documents == 480
    result = docsphere.load_result(tmp_path / "out")
    assert len(result.ids) == 480 and result.clusters["n_documents"] == 480


def test_the_command_on_a_cluster(cluster, inputs, expected, tmp_path):
    arguments = [sys.executable, "-m", "docsphere.ray", "cluster", *map(str, inputs), "-o", str(tmp_path / "out")]
    arguments += [*OPTIONS, "--address", cluster.address, "--shards", "3", "--threads", "1"]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    n_iter = len(json.loads((expected / "trace.json").read_text())["iterations"]) - 1
    assert ended.stdout.strip().endswith(f"out: 480 documents, {n_iter} iterations, converged")
    assert_same(tmp_path / "out", expected)
    again = subprocess.run([*arguments, "-q"], capture_output=True, text=True, timeout=120)
    assert again.returncode == 1 and "error: " in again.stderr and "out" in again.stderr


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_every_format_of_assignments(cluster, command, inputs, tmp_path, format):
    run(inputs, tmp_path / "out", assignments=format, runner_up=True, report=False)
    options = (*OPTIONS, "--assignments", format, "--runner-up", "--no-report")
    expected = command_result(command, inputs, tmp_path / "expected", *options)
    if format == "jsonl":
        assert assignments(tmp_path / "out", format) == assignments(expected, format)
    else:
        import pyarrow.parquet as pq

        ours = pq.read_table(tmp_path / "out" / "assignments")
        assert ours.equals(pq.read_table(expected / "assignments.parquet"))
    assert not (tmp_path / "out" / "report.html").exists()


class Watched:
    """Counts the calls of the workers, and does something before some of them."""

    def __init__(self, monkeypatch, strike=None, at=()):
        # For each call what the run is doing.
        self.stages = []
        self.n_struck = 0
        call = _run.RayExecutor.call

        def watched(executor, requests, shared):
            self.stages.append(executor.stage)
            if len(self.stages) - 1 in at:
                self.n_struck += 1
                strike(executor)
            return call(executor, requests, shared)

        monkeypatch.setattr(_run.RayExecutor, "call", watched)


def kill_process(executor):
    os.kill(int(executor.nodes[0].rpartition(" ")[2]), signal.SIGKILL)


@pytest.fixture(scope="module")
def stages(cluster, inputs, tmp_path_factory):
    """What a run does in each call if nothing dies."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        watched = Watched(monkeypatch)
        run(inputs, tmp_path_factory.mktemp("calls") / "out")
        return watched.stages


# The number of a call in each stage.
MOMENTS = {
    "start": lambda stages: 0,
    "counting": lambda stages: 2,
    "rows": lambda stages: 4,
    "seeding": lambda stages: stages.index("seeding") + 20,
    "loop": lambda stages: stages.index("after iteration 2"),
    "summary": lambda stages: len(stages) - 4,
    "writing": lambda stages: len(stages) - 1,
}


@pytest.mark.parametrize("moment", list(MOMENTS))
def test_a_node_lost_in_any_stage_changes_no_bit(cluster, inputs, expected, stages, tmp_path, monkeypatch, moment):
    number = MOMENTS[moment](stages)
    watched = Watched(monkeypatch, lambda executor: cluster.kill_node(executor.nodes[0]), [number])
    run(inputs, tmp_path / "out")
    assert watched.n_struck == 1 and watched.stages[number] == stages[number]
    assert_same(tmp_path / "out", expected)


def test_default_seeds_are_those_of_the_command(cluster, command, inputs, tmp_path, monkeypatch):
    defaults = [option for option in OPTIONS if option not in ("--init", "k-means++")]
    expected = command_result(command, inputs, tmp_path / "expected", *defaults)
    # The first calls read and make rows; this one is among those of small clusters.
    watched = Watched(monkeypatch, kill_process, [10])
    run(inputs, tmp_path / "out", init="merge")
    assert watched.n_struck == 1 and watched.stages[10] not in ("start", "counting", "rows")
    assert_same(tmp_path / "out", expected)


def test_many_lost_processes_change_no_bit(cluster, inputs, expected, stages, tmp_path, monkeypatch):
    watched = Watched(monkeypatch, kill_process, [3, len(stages) // 2, len(stages)])
    run(inputs, tmp_path / "out")
    assert watched.n_struck == 3
    assert_same(tmp_path / "out", expected)


def test_a_worker_that_is_lost_again_and_again_is_an_error(cluster, inputs, tmp_path, monkeypatch):
    watched = Watched(monkeypatch, kill_process, range(20, 10_000))
    with pytest.raises(docsphere.ClusterError, match="more shards"):
        run(inputs, tmp_path / "out")
    assert watched.n_struck > 3
    assert list(tmp_path.iterdir()) == []


RESUMED = """
import os, signal, sys
import docsphere, docsphere.ray

def die(event):
    if event["event"] == "iteration" and event["iteration"] == 4:
        os.kill(os.getpid(), signal.SIGKILL)

docsphere.ray.cluster(
    sys.argv[4:], n_clusters=20, init="k-means++", output=sys.argv[2], random_state=3, tol=0.0,
    num_shards=2, n_threads=1,
    vectorizer=docsphere.TextVectorizer(min_df=2), address=sys.argv[1], checkpoint=sys.argv[3], checkpoint_every=1,
    callback=die,
)
"""


def test_a_new_driver_resumes_from_the_checkpoint(cluster, inputs, expected, tmp_path):
    out, checkpoint = tmp_path / "out", tmp_path / "run.checkpoint"
    arguments = [cluster.address, str(out), str(checkpoint), *map(str, inputs)]
    killed = subprocess.run([sys.executable, "-c", RESUMED, *arguments], capture_output=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not out.exists() and checkpoint.exists()
    run(inputs, out, resume=checkpoint, num_shards=3)
    assert_same(out, expected)


def test_a_file_that_vanishes_is_an_error_that_names_it(cluster, inputs, tmp_path, monkeypatch, stages):
    copies = [Path(shutil.copy(path, tmp_path)) for path in inputs]

    def vanish(executor):
        copies[1].unlink()
        kill_process(executor)

    Watched(monkeypatch, vanish, [len(stages) // 2])
    with pytest.raises(docsphere.DocsphereError, match=r"b\.jsonl"):
        run(copies, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_time_limit_keeps_the_result_so_far(cluster, inputs, tmp_path):
    fit = run(inputs, tmp_path / "out", time_limit=0.01)
    assert not fit.converged and fit.n_iter <= 1
    assert (tmp_path / "out" / "clusters.json").exists()


def test_a_signal_keeps_the_result_so_far(cluster, tmp_path, command):
    words = np.random.default_rng(0).integers(0, 2000, (10_000, 20))
    source = tmp_path / "many.txt"
    source.write_text("\n".join(" ".join(f"w{word}" for word in row) for row in words), encoding="utf-8")
    arguments = [sys.executable, "-m", "docsphere.ray", "cluster", str(source), "-k", "300", "-o"]
    arguments += [str(tmp_path / "out"), "--address", cluster.address, "--shards", "2", "--threads", "1", "--tol", "0"]
    started = subprocess.Popen([*arguments, "--checkpoint", str(tmp_path / "c"), "--checkpoint-every", "1"])
    while not (tmp_path / "c").exists():
        assert started.poll() is None
        time.sleep(0.002)
    started.send_signal(signal.SIGTERM)
    assert started.wait(60) == 0
    trace = json.loads((tmp_path / "out" / "trace.json").read_text())
    assert trace["runs"][0]["stop"] != "converged"


def test_mistakes_are_refused_before_any_work(cluster, inputs, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    with pytest.raises(docsphere.FileError, match="taken"):
        run(inputs, tmp_path / "taken")
    with pytest.raises(docsphere.FileError, match=r"missing\.jsonl"):
        run([tmp_path / "missing.jsonl"], tmp_path / "out")
    with pytest.raises(docsphere.FileError, match="not a checkpoint"):
        run(inputs, tmp_path / "out", checkpoint=inputs[0])
    with pytest.raises(docsphere.ParameterError, match="outside"):
        run(inputs, tmp_path / "out", checkpoint=tmp_path / "out" / "c")
    with pytest.raises(ValueError, match="n_clusters"):
        run(inputs, tmp_path / "out", n_clusters=0)
    assert not (tmp_path / "out").exists()


def test_no_cluster_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    def refused(**options):
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refused)
    with pytest.raises(docsphere.ClusterError, match=r"no Ray cluster at address='auto': nobody(.|\n)*ray start"):
        run("a.jsonl", tmp_path / "out")
