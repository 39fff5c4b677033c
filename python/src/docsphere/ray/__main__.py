"""The command ``python -m docsphere.ray``, for a shell and for ``ray job submit``.

The first Ctrl-C or SIGTERM (``ray job stop``) after the first iteration asks the run to end with
its result so far; the second, or one before, ends it at once.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

from .._errors import DocsphereError
from ._cluster import cluster
from ._nodes import connected
from ._options import arguments, parser

# Exit codes of the command docsphere.
_FAILED = 1
_INTERRUPTED = 130


class Interrupt:
    """Turns signals into the end of a run."""

    def __init__(self) -> None:
        self.has_result = False
        self.asked = False
        signal.signal(signal.SIGINT, self._signalled)
        signal.signal(signal.SIGTERM, self._signalled)

    def _signalled(self, number: int, frame: object) -> None:
        if self.asked or not self.has_result:
            raise KeyboardInterrupt
        self.asked = True
        _say("stopping after this iteration, to keep the result so far; again to stop at once")

    def __call__(self, event: dict[str, Any]) -> bool:
        """Return whether the run is to end."""
        self.has_result |= event["event"] == "iteration"
        return self.asked


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(given: list[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    options = parser().parse_args(given)
    try:
        with connected(options.address):
            # Ray has installed a handler of its own, which this one replaces.
            interrupt = Interrupt()
            fit = cluster(**arguments(options), verbose=not options.quiet, callback=interrupt)
    except KeyboardInterrupt:
        _say("interrupted; nothing was written")
        return _INTERRUPTED
    except (DocsphereError, OSError) as error:
        _say(f"error: {error}")
        return _FAILED
    if not options.quiet:
        ended = "converged" if fit.converged else "stopped"
        print(f"{options.output}: {fit.n_documents:,} documents, {fit.n_iter} iterations, {ended}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
