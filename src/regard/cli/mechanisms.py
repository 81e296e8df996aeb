"""`regard mechanisms`: every mechanism with its equation, paper, cost and implementations."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from regard.cli.screen import fail, show

if TYPE_CHECKING:
    from regard.ops.card import Family
    from regard.ops.catalogue import Entry

_TITLES: dict[Family, str] = {
    "score": "Scores: how well a query and a key match",
    "score term": "Terms inside an additive score",
    "aligner": "Aligners: how energies become weights",
    "shape of use": "Shapes of use",
    "whole matrix": "Whole-matrix mechanisms",
    "memory": "Memory",
    "structure loss": "Structure losses",
}


def command(
    name: Annotated[str | None, typer.Argument(help="Show this mechanism alone, with its documentation.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="The table of the README.")] = False,
) -> None:
    """List every mechanism with its equation, paper, cost and implementations."""
    from regard.ops.catalogue import catalogue

    entries = catalogue()
    if name is not None:
        names = [entry.card.name for entry in entries]
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(names)}"
            fail(f"no mechanism is called {name!r}{hint}")
        entries = [entry for entry in entries if entry.card.name == name]
    if as_json:
        for card, source in entries:
            typer.echo(json.dumps({**asdict(card), "source": source}, ensure_ascii=False))
    elif as_markdown:
        typer.echo(markdown())
    elif name is not None:
        show(_one(entries[0]))
    else:
        show(*_all(entries))


def markdown() -> str:
    """The README's table: mechanism, paper, equation, file, implementations."""
    from regard.ops.catalogue import catalogue

    rows = ["| mechanism | paper | equation | file | implementations |", "|---|---|---|---|---|"]
    for card, source in catalogue():
        page = f"[{card.name}](docs/mechanisms/{card.name}.md)"
        file = f"[`{source}`](src/regard/{source})"
        equation = f"`{card.equation}`".replace("|", "\\|")
        rows.append(f"| {page} | {card.paper} | {equation} | {file} | {', '.join(card.implementations)} |")
    return "\n".join(rows)


def _all(entries: list[Entry]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for family, members in groupby(entries, key=lambda entry: entry.card.family):
        table = Table(title=_TITLES[family], title_justify="left", title_style="bold")
        for column, style in (("mechanism", "bold cyan"), ("equation", ""), ("paper", "dim"), ("cost", "")):
            table.add_column(column, style=style)
        table.add_column("implementations", style="green")
        for card, _ in members:
            cells = (card.name, card.equation, card.paper, card.cost, ", ".join(card.implementations))
            table.add_row(*map(escape, cells))
        parts.append(table)
    parts.append(f"{len(entries)} mechanisms; `regard mechanisms NAME` shows one with its documentation")
    return parts


def _one(entry: Entry) -> RenderableType:
    from regard import nn, ops

    card, source = entry
    facts = Table.grid(padding=(0, 2))
    for label, fact in (
        ("equation", card.equation),
        ("paper", card.paper),
        ("cost", f"{card.cost}   (B = H = 1; T queries, S keys, D key width, Dv value width, A hidden width)"),
        ("implementations", ", ".join(card.implementations)),
        ("function", f"regard.ops.{card.op}"),
        ("module", f"regard.nn.{card.module}"),
        ("defined in", f"src/regard/{source}"),
        ("page", f"docs/mechanisms/{card.name}.md"),
    ):
        facts.add_row(f"[dim]{label}[/]", escape(fact))
    documentation = inspect.getdoc(getattr(nn, card.module)) or inspect.getdoc(getattr(ops, card.op)) or ""
    title = f"[bold cyan]{card.name}[/] ({card.family})"
    return Group(Panel(facts, title=title, title_align="left"), escape(documentation))
