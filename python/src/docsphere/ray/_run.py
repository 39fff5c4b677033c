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
    *,
    bar: ProgressBar | None = None,
    tell: Callable[[str], object],
) -> CoordinatedFit:
    """Start a worker per shard, run the job, and end the workers."""
    executor = RayExecutor(makers, placement, tell)

    def watch(event: str) -> bool:
        record = json.loads(event)
        executor.stage = stage_of(record)
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


def stage_of(event: dict[str, Any]) -> str:
    """Return what a run does after an event, for messages."""
    if event["event"] == "iteration":
        return f"iteration {event['iteration'] + 1}"
    return str(event["event"])
