"""A progress bar for ``verbose=1``."""

from __future__ import annotations

from typing import Any

from tqdm.auto import tqdm


class ProgressBar:
    """Shows the seeds found, then the iterations done, per run."""

    def __init__(self, max_iter: int) -> None:
        self.max_iter = max_iter
        self.run = ""
        self.shown = ""
        self.bar: Any = None

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "run":
            self.finish()
            self.run = f"run {event['run'] + 1} of {event['n_init']}: " if event["n_init"] > 1 else ""
        elif event["event"] == "seeding":
            self._show("seeds", event["done"], event["total"])
        elif event["event"] == "iteration":
            self._show("iterations", event["iteration"], self.max_iter)
            self.bar.set_postfix_str(f"moved={event['moved_docs']:,}, objective={event['objective']:.6g}")

        elif event["event"] == "reading":
            self._show("documents", event["n_documents"], None)
        elif event["event"] == "recovered":
            self.say(f"{event['error']}; the run goes on")
        elif event["event"] == "checkpoint_failed":
            self.say(f"warning: no checkpoint: {event['error']}")

    def say(self, line: str) -> None:
        """Show a line for a person, and go on with the bar below it."""
        tqdm.write(line)

    def _show(self, what: str, done: int, total: int | None) -> None:
        description = self.run + what
        if self.bar is None or self.shown != description:
            self.finish()
            self.bar = tqdm(total=total, desc=description, unit=what[:-1], leave=True)
            self.shown = description
        self.bar.update(done - self.bar.n)

    def finish(self) -> None:
        """Close the bar as full."""
        if self.bar is not None:
            self.bar.total = self.bar.n
            self.bar.refresh()
        self.close()

    def close(self) -> None:
        """Close the bar at its present state."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
