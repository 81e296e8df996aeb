"""Output of commands: tables on standard output, messages on standard error."""

from __future__ import annotations

import os
from io import StringIO
from typing import NoReturn

import typer
from rich.console import RenderableType
from rich.markup import escape

from regard.view.console import Console

# A pipe has no width; rich's default of 80 columns would truncate the equations in tables.
_PIPE_WIDTH = 160


def console() -> Console:
    """Return standard output, as wide as the terminal."""
    screen = Console()
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _PIPE_WIDTH
    return screen


def show(*what: RenderableType) -> None:
    """Print tables or lines."""
    screen = console()
    for part in what:
        screen.print(part)


def render(*what: RenderableType) -> str:
    """Return tables or lines as printed, with their colours."""
    screen = Console(file=StringIO(), force_terminal=True, color_system="standard", highlight=False, width=_PIPE_WIDTH)
    with screen.capture() as capture:
        for part in what:
            screen.print(part)
    return capture.get()


def notice(sentence: str) -> None:
    """Print a note on standard error."""
    Console(stderr=True, soft_wrap=True).print(f"[yellow]note:[/] {escape(sentence)}")


def fail(sentence: str) -> NoReturn:
    """End the command with a message and exit status 2."""
    Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {escape(sentence)}")
    raise typer.Exit(2)
