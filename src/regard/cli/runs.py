"""`regard runs`: list, compare or remove the runs of a folder."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.screen import fail, show

if TYPE_CHECKING:
    from regard.runs.inventory import RunSummary

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names or folders of runs: dates or runs/dates; default: all.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    compare: Annotated[bool, typer.Option("--compare", help="Table of all metrics, side by side.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the named runs, after a question.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="No question before runs are deleted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """List, compare or remove runs."""
    from regard.runs.folder import RunError
    from regard.runs.inventory import inventory, summarise_run

    if remove and not names:
        fail("--remove: name the runs to delete: regard runs dates --remove")
    try:
        found = [summarise_run(_folder(name, runs)) for name in dict.fromkeys(names)] if names else inventory(runs)
    except RunError as problem:
        fail(str(problem))
    if remove:
        _remove(found, asked=not yes)
    elif as_json:
        for one in found:
            typer.echo(json.dumps(one.as_json(), ensure_ascii=False))
    elif not found:
        show(f"no runs in {escape(str(runs))}; `regard train` makes one")
    else:
        show(_metrics(found) if compare else _table(found))


def _folder(name: str, runs: Path) -> Path:
    """Return a run by its path, or by its name in the folder of runs."""
    from regard.runs.folder import recipe_file

    among = runs / name
    return recipe_file(among if (among / "recipe.yaml").exists() else Path(name)).parent


def _remove(found: Sequence[RunSummary], *, asked: bool) -> None:
    from regard.runs.folder import RunError
    from regard.runs.lock import locked

    for one in found:
        if one.state == "under way":
            fail(f"{one.folder} is under way; stop it before it is removed")
        if Path.cwd().is_relative_to(one.folder.resolve()):
            fail(f"{one.folder} is the folder you are in; leave it before it is removed")
    if asked:
        for one in found:
            show(f"{escape(str(one.folder))}: {escape(one.task)}, {one.step:,} updates, {_size(one.size)}")
        if not typer.confirm(f"Delete {'it' if len(found) == 1 else f'these {len(found)} runs'}?"):
            raise typer.Exit(1)
    for one in found:
        try:
            with locked(one.folder):  # another process may have resumed it during the prompt
                shutil.rmtree(one.folder)
        except RunError as problem:
            fail(str(problem))
        except OSError as problem:
            fail(f"{one.folder}: cannot be removed ({problem.strerror})")
        show(f"removed {escape(str(one.folder))}")


def _table(found: Sequence[RunSummary]) -> Table:
    table = Table()
    for column in ("run", "state", "task", "data", "model"):
        table.add_column(column, no_wrap=column in ("run", "state"))
    for column in ("updates", "metric", "age", "size"):
        table.add_column(column, justify="left" if column == "metric" else "right", no_wrap=True)
    for one in found:
        updates = f"{one.step:,}" if one.steps is None else f"{one.step:,} of {one.steps:,}"
        cells = (str(one.folder), one.state, one.task, one.data, one.model, updates, _metric(one))
        table.add_row(*map(escape, cells), _age(one.modified), _size(one.size))
    return table


def _metrics(found: Sequence[RunSummary]) -> Table:
    """Return a table with a row per run and a column per metric."""
    names = list(dict.fromkeys(name for one in found for name in one.metrics or {}))
    table = Table()
    for column in ("run", "updates", "split", *names):
        table.add_column(escape(column), justify="left" if column in ("run", "split") else "right", no_wrap=True)
    for one in found:
        values = [_value((one.metrics or {})[name]) if name in (one.metrics or {}) else "" for name in names]
        table.add_row(escape(str(one.folder)), f"{one.step:,}", one.split or "", *values)
    return table


def _metric(one: RunSummary) -> str:
    if one.chosen is None or one.metrics is None:
        return ""
    return f"{one.chosen} {_value(one.metrics[one.chosen])} ({one.split})"


def _value(value: float | None) -> str:
    return "inf" if value is None else f"{value:.4g}"  # logs contain null for infinity, which JSON lacks


def _age(modified: float) -> str:
    seconds = max(0.0, time.time() - modified)
    length, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{seconds / length:.0f} {unit}"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
