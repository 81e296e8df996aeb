"""Page of a run: `report.html` in its folder."""

from __future__ import annotations

from pathlib import Path

from regard.recipes.system import system_of
from regard.report import background, errors, results
from regard.report.material import ReportData
from regard.report.page import document
from regard.runs.files import atomic_path

NAME = "report.html"


def run_page(found: ReportData) -> str:
    """Return the page of a run; the same run gives the same page."""
    sections = [
        results.results(found),
        results.curves(found),
        errors.attention_of_examples(found),
        errors.breakdowns(found),
        errors.classes(found),
        errors.examples(found),
        background.data(found),
        background.training(found),
        background.recipe(found),
    ]
    return document(
        found.recipe.run,
        _lead(found),
        results.headline(found),
        [one for one in sections if one is not None],
        _made(found),
    )


def write_page(found: ReportData, path: Path | None = None) -> Path:
    """Write the page of a run; return where.

    Args:
        found: what it is made of.
        path: where; None for the folder of the run.

    Raises:
        DiskError: it cannot be written.
    """
    place = found.run.folder / NAME if path is None else path
    page = run_page(found)
    with atomic_path(place) as draft:
        draft.write_text(page, encoding="utf-8")
    return place


def _lead(found: ReportData) -> str:
    """Return what was trained and how it ended, in a sentence."""
    recipe = found.recipe
    system = system_of(recipe.task)
    what = f"Task {system.name}, model {recipe.model.kind}, seed {recipe.train.seed}."
    if found.record is not None and found.record.ended:
        return f"{what} {found.record.ended[:1].upper()}{found.record.ended[1:]}."
    if not found.log:
        return f"{what} No update was logged yet."
    of = f" of {recipe.train.steps:,}" if recipe.train.steps is not None else ""
    return f"{what} The log ends after step {results.last_step(found):,}{of}."


def _made(found: ReportData) -> str:
    when = "" if found.record is None or not found.record.finished else f" Trained until {found.record.finished}."
    return f"Report of {found.run.folder} by Regard.{when} This page loads nothing from outside."
