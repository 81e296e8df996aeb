"""`regard mechanisms`: list of mechanisms with equation, paper, cost and implementations."""

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
    from regard.ops.card import CatalogueEntry, Family

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
    name: Annotated[str | None, typer.Argument(help="Mechanism to show with its documentation.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Markdown table, as in docs/mechanisms/README.md.")
    ] = False,
) -> None:
    """List the attention mechanisms with equation, paper, cost and implementations."""
    from regard.ops.card import catalogue

    entries = catalogue()
    if name is not None:
        entries = [_named(name, entries)]
    if as_json:
        for card, source in entries:
            typer.echo(json.dumps({**asdict(card), "source": source}, ensure_ascii=False))
    elif as_markdown:
        typer.echo(markdown())
    elif name is not None:
        show(_one(entries[0]))
    else:
        show(*_all(entries))


def _named(name: str, entries: list[CatalogueEntry]) -> CatalogueEntry:
    """Return a mechanism by its name or its module's name, ignoring case and hyphens."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    known = {entry.card.module.lower(): entry for entry in entries} | {entry.card.name: entry for entry in entries}
    if plain not in known:
        near = get_close_matches(plain, known, n=1)
        authors = [entry.card.name for entry in entries if plain in entry.card.paper.lower()]
        hint = f"did you mean {known[near[0]].card.name}?" if near else f"there are: {', '.join(sorted(known))}"
        fail(f"no mechanism is called {name!r}; {f'try {chr(44).join(authors)}' if authors else hint}")
    return known[plain]


def markdown() -> str:
    """Return the table of docs/mechanisms/README.md: mechanism, family, paper, equation, file, implementations."""
    from regard.ops.card import catalogue

    rows = ["| mechanism | family | paper | equation | file | implementations |", "|---|---|---|---|---|---|"]
    for card, source in catalogue():
        page = f"[{card.name}]({card.name}.md)"
        file = f"[`{source}`](../../src/regard/{source})"
        equation = f"`{card.equation}`".replace("|", "\\|")
        rows.append(f"| {page} | {card.family} | {card.paper} | {equation} | {file} | {card.ways()} |")
    return "\n".join(rows)


def _all(entries: list[CatalogueEntry]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for family, members in groupby(entries, key=lambda entry: entry.card.family):
        table = Table(title=_TITLES[family], title_justify="left", title_style="bold")
        for column, style in (("mechanism", "bold cyan"), ("equation", ""), ("paper", "dim"), ("cost", "")):
            table.add_column(column, style=style, no_wrap=column == "mechanism")
        table.add_column("implementations", style="green")
        for card, _ in members:
            cells = (card.name, card.equation, card.paper, card.cost, card.ways())
            table.add_row(*map(escape, cells))
        parts.append(table)
    parts.append(f"{len(entries)} mechanisms; `regard mechanisms NAME` shows one with its documentation")
    return parts


def _one(entry: CatalogueEntry) -> RenderableType:
    from regard import nn, ops
    from regard.ops.card import catalogue

    card, source = entry
    facts = Table.grid(padding=(0, 2))
    for label, fact in (
        ("equation", card.equation),
        ("paper", card.paper),
        ("cost", f"{card.cost}   (B = H = 1; T queries, S keys, D key width, Dv value width, A hidden width)"),
        ("implementations", card.ways()),
        ("function", f"regard.ops.{card.op}"),
        ("module", f"regard.nn.{card.module}"),
        ("defined in", f"src/regard/{source}"),
        ("page", f"docs/mechanisms/{card.name}.md"),
    ):
        facts.add_row(f"[dim]{label}[/]", escape(fact))
    shared = [one for one in catalogue() if one.card.module == card.module]
    documented = getattr(ops, card.op) if len(shared) > 1 else getattr(nn, card.module)
    documentation = inspect.getdoc(documented) or ""
    title = f"[bold cyan]{card.name}[/] ({card.family})"
    return Group(Panel(facts, title=title, title_align="left"), escape(documentation))
