"""`regard train`: from a recipe to a model."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.screen import fail, notice, show

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def command(
    recipe: Annotated[str, typer.Argument(help="A recipe that ships (see `regard recipes`) or a YAML file.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="Any key: train.steps=500 model.hidden_dim=64")] = None,
    runs: Annotated[Path, typer.Option(help="The folder of all runs.")] = Path("runs"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be trained, and stop.")] = False,
) -> None:
    """Train a model; a run that exists goes on where it stopped."""
    from regard.recipes.library import find_recipe
    from regard.recipes.problem import RecipeError

    try:
        find_recipe(recipe)
        from regard.recipes.load import load

        loaded, _, notes = load(recipe, overrides)
    except RecipeError as problem:
        fail(str(problem))

    for note in notes:
        notice(note)

    from regard.runs.folder import RunError
    from regard.runs.lock import first_process, locked

    writes = first_process() and not dry_run
    try:  # before PyTorch is imported, and until the report is written
        with locked(runs / loaded.run) if writes else nullcontext():
            _train(loaded, runs / loaded.run, dry_run=dry_run)
    except RunError as problem:
        fail(str(problem))


def _train(recipe: Recipe, folder: Path, *, dry_run: bool) -> None:
    from regard.runs.files import DiskError
    from regard.runs.run import Run
    from regard.train.fault import NotFiniteError
    from regard.train.plan import plan
    from regard.train.report import report, summary
    from regard.train.trainer import Trainer

    try:
        if dry_run:
            show(*plan(recipe))
            return
        run = Run(folder)
        trainer = Trainer(recipe, run)
        outcome = trainer.fit()
    except (DiskError, NotFiniteError, ValueError) as problem:
        fail(str(problem))
    # A signal may mean that the terminal is gone; the run's status is more than its last lines.
    with suppress(OSError) if outcome.signal else nullcontext():
        if trainer.accelerator.is_main_process:
            report(run, trainer.recipe, outcome)
            show(*summary(run, trainer.recipe, outcome))
    if outcome.signal:
        raise typer.Exit(128 + outcome.signal)
