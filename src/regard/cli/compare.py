"""`regard compare`: training of one recipe with several values of some keys, and comparison of the results."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from regard.cli.screen import fail, notice, show
from regard.view.console import Console

if TYPE_CHECKING:
    from regard.compare.comparison import Comparison
    from regard.compare.pool import Pool


def command(
    recipe: Annotated[str, typer.Argument(help="Name of a shipped recipe (see `regard recipes`) or a YAML file.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Keys, at least one with several values: model.hidden_dim=64,128")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    name: Annotated[
        str | None, typer.Option(help="Folder name of this comparison; default: from recipe and keys.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of runs trained at the same time.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs; train nothing.")] = False,
) -> None:
    """Train a recipe with several values of some keys, and compare the results in a table and a picture."""
    from regard.recipes.errors import RecipeError
    from regard.recipes.library import find_recipe

    try:
        find_recipe(recipe)
        from regard.compare.comparison import compare

        comparison = compare(recipe, overrides or [], runs, name)
    except RecipeError as problem:
        fail(str(problem))

    from regard.compare.pool import Pool
    from regard.runs.files import DiskError
    from regard.runs.folder import RunError
    from regard.runs.lock import locked

    try:
        pool = Pool(comparison.trials, jobs)
        if dry_run:
            for trial, state in zip(pool.trials, pool.states, strict=True):
                show(f"{escape(str(trial.folder))}: {escape(trial.label)}{' (done)' if state == 'done' else ''}")
            return
        with locked(comparison.folder):
            comparison.begin()
            _train(pool)
            _write(comparison, pool)
    except (RecipeError, RunError, DiskError) as problem:
        fail(str(problem))
    if pool.reasons:
        raise typer.Exit(1)


def _train(pool: Pool) -> None:
    from regard.compare.board import Board
    from regard.train.signals import Interrupted

    console = Console(stderr=True)
    try:
        with Board(console) as board:
            pool.train(board.show, board.stopping)
    except Interrupted as stop:
        with suppress(OSError):  # the terminal may be closed
            console.print("interrupted; the same command goes on from there")
        raise typer.Exit(128 + stop.number) from None


def _write(comparison: Comparison, pool: Pool) -> None:
    """Print the table, and write the pages, the CSV and the figure to the folder of the comparison."""
    from regard.compare.page import write_page
    from regard.compare.picture import draw
    from regard.compare.result import rows
    from regard.compare.table import as_csv, columns, markdown, on_screen
    from regard.runs.files import atomic_path

    found = rows(pool)
    table = columns(comparison, found)
    for suffix, text in (("md", markdown(comparison, table)), ("csv", as_csv(comparison, found))):
        with atomic_path(comparison.folder / f"comparison.{suffix}") as draft:
            draft.write_text(text, encoding="utf-8")
    draw(comparison, found, comparison.folder / "comparison.png")
    show(on_screen(comparison, table), f"the comparison is in {escape(str(comparison.folder))}")
    try:
        write_page(comparison, found)
    except Exception as problem:  # any error: a failed page must not discard the runs
        notice(f"the page comparison.html was not written ({str(problem).partition(chr(10))[0]})")
