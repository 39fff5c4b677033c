"""One run: actors, the compiled coordinator, and who watches it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _docsphere
from .._executors import MakeWorker
from .._progress import ProgressBar
from ._executor import Placement, RayExecutor

if TYPE_CHECKING:
    from .._docsphere import CoordinatedFit

Watcher = Callable[[dict[str, Any]], object]


class TimeLimit:
    """Ends a run at its next iteration once the time is over."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def __call__(self, event: dict[str, Any]) -> bool:
        """Return whether the run is to end. Before the first iteration there is no result."""
        return event["event"] == "iteration" and time.monotonic() >= self.deadline


def run(
    makers: Sequence[MakeWorker],
    job: dict[str, Any],
    placement: Placement,
    watchers: Sequence[Watcher],
    bar: ProgressBar | None = None,
) -> CoordinatedFit:
    """Start a worker per shard, run the job, and end the workers. With a bar, tell what goes wrong."""
    executor = RayExecutor(makers, placement, (lambda line: None) if bar is None else bar.say)
    if bar is not None:
        watchers = [bar, *watchers]

    def watch(event: str) -> bool:
        record = json.loads(event)
        executor.stage = stage_of(record, executor.stage)
        return any([bool(watcher(record)) for watcher in watchers])

    try:
        fit = _docsphere.coordinate(executor, job, watch)
        if bar is not None:
            bar.finish()
        return fit
    finally:
        if bar is not None:
            bar.close()
        executor.close()


def stage_of(event: dict[str, Any], before: str) -> str:
    """Return what a run does after an event, for messages."""
    if event["event"] == "iteration":
        return f"after iteration {event['iteration']}"
    return event["event"] if event["event"] in ("reading", "seeding") else before
