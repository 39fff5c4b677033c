"""The command ``docsphere``, also as ``python -m docsphere``. It is the same program as the binary."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command, and end the process."""
    # Until the command handles Ctrl-C itself, it ends the process, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ._docsphere import run_command

    run_command(["docsphere", *sys.argv[1:]])


if __name__ == "__main__":
    main()
