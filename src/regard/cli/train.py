"""`regard train`: train or resume a run."""

from __future__ import annotations

import shlex
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from regard.cli.out_of_memory import is_out_of_memory, training_advice
from regard.cli.screen import fail, notice, render, show

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def command(
    recipe: Annotated[str, typer.Argument(help="Name of a shipped recipe (see `regard recipes`) or a YAML file.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Keys that differ from the recipe: train.steps=500 model.hidden_dim=64")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    changed_data: Annotated[
        bool, typer.Option("--changed-data", help="Resume although the data differ from those of the checkpoint.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print data, model size and time; train nothing.")] = False,
) -> None:
    """Train a model, or resume a run that stopped."""
    from regard.recipes.errors import RecipeError
    from regard.recipes.library import find_recipe

    try:
        find_recipe(recipe)
        from regard.recipes.load import load

        loaded = load(recipe, overrides, model=False)
    except RecipeError as problem:
        fail(str(problem))

    for note in loaded.notes:
        notice(note)

    from regard.recipes.load import check_model
    from regard.runs.agreement import agree
    from regard.runs.folder import RunError
    from regard.runs.lock import first_process, locked

    folder = runs / loaded.recipe.run
    writes = first_process() and not dry_run
    try:  # covers the import of PyTorch and the report
        with locked(folder) if writes else nullcontext():
            if not dry_run:
                agree(folder, loaded.recipe)
                if _ended(folder, loaded.recipe, shows=writes):
                    return
            check_model(loaded)
            given = shlex.join(["regard", "train", recipe, *(overrides or []), "--runs", str(runs)])
            _train(loaded.recipe, folder, dry_run=dry_run, changed_data=changed_data, command=given)
    except (RecipeError, RunError) as problem:
        fail(str(problem))


def _ended(folder: Path, recipe: Recipe, *, shows: bool) -> bool:
    """Print the summary of a run that ended with this recipe; return True if there is one."""
    from regard.runs.folder import saved_summary

    summary = saved_summary(folder, recipe)
    if summary is not None and shows:
        notice(f"{folder} ended before; this is its summary. `regard evaluate {folder}` measures it again")
        show(Text.from_ansi(summary.removesuffix("\n")))
    return summary is not None


def _train(recipe: Recipe, folder: Path, *, dry_run: bool, changed_data: bool, command: str) -> None:
    from regard.runs.files import DiskError
    from regard.runs.folder import save_summary
    from regard.runs.run import Run
    from regard.tasks.nan_locator import NotFiniteError
    from regard.train.dry_run import plan
    from regard.train.report import report, report_page, summary
    from regard.train.trainer import Trainer

    try:
        if dry_run:
            show(*plan(recipe))
            return
        run = Run(folder)
        trainer = Trainer(recipe, run, changed_data=changed_data)
        outcome = trainer.fit()
    except (DiskError, NotFiniteError, ValueError) as problem:
        fail(str(problem))
    except (MemoryError, RuntimeError) as problem:
        if not is_out_of_memory(problem):
            raise
        paths = Run(folder).checkpoints().paths()
        fail(training_advice(recipe, int(paths[-1].name) if paths else None))
    # After a signal the terminal may be closed; a failed print must not change the exit status.
    with suppress(OSError) if outcome.signal else nullcontext():
        if trainer.accelerator.is_main_process:
            report(run, trainer.recipe, outcome)
            parts = summary(run, trainer.recipe, trainer.task, outcome)
            show(*parts)
            report_page(trainer, outcome, command)
            if outcome.valid is not None:
                save_summary(folder, recipe, render(*parts))
    if outcome.signal:
        raise typer.Exit(128 + outcome.signal)
