"""The command line as a test uses it."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from regard.cli import app

RUN = CliRunner(env={"COLUMNS": "200", "ACCELERATE_USE_CPU": "true"})


def asked(*arguments: str | Path) -> str:
    """What a command prints that succeeds."""
    done = RUN.invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: str | Path) -> str:
    """The one sentence of a command that is wrong."""
    done = RUN.invoke(app, list(map(str, arguments)))
    assert done.exit_code == 2, done.output
    assert done.output.startswith("error: ")
    assert done.output.count("\n") == 1
    return done.output
