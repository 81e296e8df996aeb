"""Root of the command line, with all its commands."""

from __future__ import annotations

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
from regard.cli.screen import show
from regard.parts import imported
from regard.recipes.system import systems

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
