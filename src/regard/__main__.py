"""`python -m regard` and the command `regard`: the command line, with an early Ctrl-C in mind."""

from __future__ import annotations

import signal


def main() -> None:
    """Import the command line and run it.

    Its import takes a tenth of a second. There is nothing to save yet, so Ctrl-C ends the process as it ends other
    programs, instead of with the traceback of some import.
    """
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from regard.cli.main import main as command_line

    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line()


if __name__ == "__main__":
    main()
