"""`regard evaluate`: what a trained model is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.screen import fail, show


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run: runs/dates")],
    split: Annotated[Literal["test", "valid", "train"], typer.Option(help="What it is measured on.")] = "test",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    decode: Annotated[list[str] | None, typer.Option(help="Another search: --decode beam_size=10")] = None,
) -> None:
    """Measure a trained model, by the function that measured it in training."""
    from regard.train.folder import RunError, recipe_file

    try:
        recipe_file(run)
    except RunError as problem:
        fail(str(problem))

    from regard.loading import load
    from regard.train.fault import NotFiniteError
    from regard.train.files import DiskError
    from regard.train.splits import prepared
    from regard.train.validation import measure

    try:
        loaded = load(run, overrides=[f"decode.{one}" for one in decode or []])
        found = prepared(loaded.recipe, split, loaded.task.encoders, run.parent / ".cache")
        if found is None:
            fail(f"the recipe of {run} has no split {split!r}; try --split valid")
        measured = measure(loaded.model, loaded.task, found, loaded.recipe)
    except (DiskError, NotFiniteError, ValueError) as problem:
        fail(str(problem))
    if as_json:
        signatures = {name: score.signature for name, score in measured.scores.items()}
        typer.echo(json.dumps({"split": split, **measured.values(), "signatures": signatures}))
        return
    table = Table(title=f"{run}: {split}, {len(found.corpus):,} examples", title_justify="left")
    for column in ("measure", "value", "signature"):
        table.add_column(column, justify="right" if column == "value" else "left")
    table.add_row("loss", f"{measured.loss:.4f}", loaded.task.measured_in)
    for score in measured.scores.values():
        table.add_row(escape(score.name), f"{score.value:#.4g}", escape(score.signature))
    show(table)
