"""Command line with all its commands; errors outside of any of them end as one message too."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from regard import __version__
from regard.cli import (
    bench,
    compare,
    doctor,
    evaluate,
    explain,
    mechanisms,
    predict,
    recipes,
    report,
    runs,
    train,
    view,
)
from regard.cli.out_of_memory import is_out_of_memory
from regard.cli.screen import show
from regard.parts import imported
from regard.recipes.system import systems
from regard.view.text import visible

app = typer.Typer(
    help="Attention for sequence models: a query reads a memory.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train")(train.command)
app.command("compare")(compare.command)
app.command("predict")(predict.command)
app.command("evaluate")(evaluate.command)
app.command("view")(view.command)
app.command("explain")(explain.command)
app.command("report")(report.command)
app.command("runs")(runs.command)
app.command("recipes")(recipes.command)
app.command("mechanisms")(mechanisms.command)
app.command("bench")(bench.command)
app.command("doctor")(doctor.command)
for _system in systems().values():
    for _name, _place in _system.commands.items():
        app.command(_name)(imported(_place))


def _version(asked: bool) -> None:
    if asked:
        show(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Attention for sequence models: a query reads a memory."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode gets question marks, not a traceback
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except (MemoryError, RuntimeError) as problem:
        if not is_out_of_memory(problem):
            raise
        sys.exit("error: out of memory; give it less at a time: a shorter text, a smaller --decode beam_size=4")
    except OSError as problem:
        if problem.filename is not None:
            sys.exit(f"error: {visible(str(problem.filename))}: cannot be read or written ({problem.strerror})")
        _forget_output()
        sys.exit(f"error: cannot write the output ({problem.strerror})" if problem.strerror else f"error: {problem}")


def _forget_output() -> None:
    """Point standard output to nowhere, so that flushing it at exit cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
