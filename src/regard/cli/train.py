"""`regard train`: from a recipe to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.screen import fail, notice, show


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

    from regard.runs.files import DiskError
    from regard.runs.run import Run
    from regard.train.fault import NotFiniteError
    from regard.train.plan import plan
    from regard.train.report import report, summary
    from regard.train.trainer import Trainer

    try:
        if dry_run:
            show(*plan(loaded))
            return
        run = Run(runs / loaded.run)
        trainer = Trainer(loaded, run)
        outcome = trainer.fit()
    except (DiskError, NotFiniteError, ValueError) as problem:
        fail(str(problem))
    if trainer.accelerator.is_main_process:
        report(run, trainer.recipe, outcome)
        show(*summary(run, trainer.recipe, outcome))
