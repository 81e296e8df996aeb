"""`python -m regard.compare.child FOLDER ...`: `regard train ...` for as long as somebody holds its standard input."""

from __future__ import annotations

import _thread
import os
import runpy
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from regard.compare.clock import Clock

if sys.platform != "win32":
    import fcntl


def main(folder: str, *arguments: str) -> None:
    """Train; when standard input ends, because it was closed or its holder was killed, do what Ctrl-C does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
    Thread(target=_interrupt_at_the_end_of_input, daemon=True).start()
    sys.argv = ["regard", "train", *arguments]
    with _alone(Path(folder)), Clock(Path(folder)).running():
        runpy.run_module("regard", run_name="__main__")


def _interrupt_at_the_end_of_input() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock would be held at exit
        pass
    _thread.interrupt_main()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for a process that trains here already: one whose parent was killed still ends the step it is in."""
    with (folder / ".lock").open("w") as file:
        while not _locked(file.fileno()):
            time.sleep(0.1)
        yield


def _locked(file: int) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
