"""Entry point of the command line, which reports errors outside of any command as one message."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from regard.cli.app import app
from regard.cli.out_of_memory import is_out_of_memory
from regard.cli.start_up import quick_exit
from regard.view.text import visible


def main() -> None:
    """Run the command line."""
    quick_exit()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # without Unicode, print question marks instead of failing
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except (MemoryError, RuntimeError) as problem:
        if not is_out_of_memory(problem):
            raise
        _refuse("out of memory; give it less at a time: a shorter text, a smaller --decode beam_size=4")
    except OSError as problem:
        if problem.filename is not None:
            _refuse(f"{visible(str(problem.filename))}: cannot be read or written ({problem.strerror})")
        _forget_output()
        _refuse(f"cannot write the output ({problem.strerror})" if problem.strerror else str(problem))


def _refuse(sentence: str) -> NoReturn:
    """End with a message and the exit status of all errors, as `fail` does inside a command."""
    sys.stderr.write(f"error: {sentence}\n")
    sys.exit(2)


def _forget_output() -> None:
    """Redirect standard output to the null device, so that the flush at exit cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
