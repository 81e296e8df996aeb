"""`regard recipes`: list of shipped recipes, and reference of all keys."""

from __future__ import annotations

from itertools import takewhile
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding

from regard.cli.screen import fail, show
from regard.nearest import nearest
from regard.recipes.library import shipped


def command(
    name: Annotated[str | None, typer.Argument(help="Recipe to print; with --reference a key: model.luong.")] = None,
    reference: Annotated[bool, typer.Option("--reference", help="Describe all keys of recipes, or one.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="The reference as a page of tables.")] = False,
) -> None:
    """List the shipped recipes with expected results and training time, print one, or describe their keys."""
    if reference or markdown:
        _print_reference(name, markdown=markdown)
        return
    found = shipped()
    if name is None:
        for one, path in found.items():
            head = _head(path.read_text(encoding="utf-8"))
            show(f"[bold cyan]{escape(one)}[/]", *(f"  {escape(line)}" for line in head), "")
        show("`regard recipes NAME` prints one, `regard train NAME` trains it")
        show("`regard recipes --reference` describes all keys, `regard recipes --reference KEY` one: model.luong")
        return
    if name not in found:
        near = nearest(name, found)
        hint = f"did you mean {near}?" if near else f"there are: {', '.join(found)}"
        fail(f"no recipe is called {name!r}; {hint}")
    typer.echo(found[name].read_text(encoding="utf-8"), nl=False)


def _print_reference(key: str | None, *, markdown: bool) -> None:
    from regard.recipes import reference

    try:
        chapters = reference.reference(key)
    except ValueError as problem:
        fail(str(problem))
    if markdown:
        typer.echo(reference.markdown(chapters))
        return
    for path, label, keys in chapters:
        show(f"[bold]{escape(path)}[/]  [dim]{escape(label)}[/]")
        for one in keys:
            default = one.default if one.default == "required" else f"default {one.default}"
            show(f"  [bold cyan]{escape(one.name)}[/]  {escape(one.type)}  [dim]{escape(default)}[/]")
            show(Padding(escape(one.sentence), (0, 0, 0, 6)))
        show("")


def _head(text: str) -> list[str]:
    """Return the leading comment of a recipe (command, results and cost), without lines for the gallery."""
    lines = [line.removeprefix("#").strip() for line in takewhile(lambda line: line.startswith("#"), text.splitlines())]
    return [line for line in lines if not line.startswith("Gallery:")]
