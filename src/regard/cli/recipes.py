"""`regard recipes`: what can be trained without writing a recipe."""

from __future__ import annotations

from itertools import takewhile
from typing import Annotated

import typer
from rich.markup import escape

from regard.cli.screen import fail, show
from regard.nearest import nearest
from regard.recipes.library import shipped


def command(
    name: Annotated[str | None, typer.Argument(help="Recipe to print, as a start for your own.")] = None,
) -> None:
    """List the shipped recipes with expected results and training time, or print one."""
    found = shipped()
    if name is None:
        for one, path in found.items():
            head = _head(path.read_text(encoding="utf-8"))
            show(f"[bold cyan]{escape(one)}[/]", *(f"  {escape(line)}" for line in head), "")
        show("`regard recipes NAME` prints one, `regard train NAME` trains it")
        return
    if name not in found:
        near = nearest(name, found)
        hint = f"did you mean {near}?" if near else f"there are: {', '.join(found)}"
        fail(f"no recipe is called {name!r}; {hint}")
    typer.echo(found[name].read_text(encoding="utf-8"), nl=False)


def _head(text: str) -> list[str]:
    """The comment that a recipe begins with: its command, what it gives, what it costs."""
    return [line.removeprefix("#").strip() for line in takewhile(lambda line: line.startswith("#"), text.splitlines())]
