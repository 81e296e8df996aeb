"""Root of the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from regard import __version__
from regard.cli.commands import Commands

app = typer.Typer(
    cls=Commands,
    help="Attention for sequence models: a query reads a memory.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Attention for sequence models: a query reads a memory."""
