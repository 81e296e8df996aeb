"""`python -m regard.compare.child FOLDER ...`: `regard train ...` until its standard input is closed."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path
from threading import Thread

from regard.compare.trial import Clock
from regard.runs.folder import RunError
from regard.runs.lock import PATIENCE, locked


def main(folder: str, *arguments: str) -> None:
    """Train; treat the end of standard input (closed, or the parent was killed) like Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
    Thread(target=_interrupt_at_the_end_of_input, daemon=True).start()
    sys.argv = ["regard", "train", *arguments]
    try:
        with locked(Path(folder), patience=PATIENCE), Clock(Path(folder)).running():
            runpy.run_module("regard", run_name="__main__")
    except RunError as problem:
        sys.exit(f"error: {problem}")


def _interrupt_at_the_end_of_input() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock would be held at exit
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main(*sys.argv[1:])
