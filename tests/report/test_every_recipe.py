"""Every recipe that runs offline leaves a page, whatever its system; none is treated apart."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from regard.recipes.library import shipped
from regard.recipes.load import load
from regard.report.material import material, trained_material
from regard.report.run_page import run_page
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.report.pages import Page

OFFLINE = [name for name, path in shipped().items() if "data.root" not in path.read_text().partition("\n")[0]]
SMALL = {"train_size": 48, "valid_size": 7, "test_size": 11, "nodes": 120, "words": 24}
_CHEAP = ["train.steps=2", "train.valid_every=2", "train.log_every=1", "train.checkpoint_every=2", "evaluate.examples=1"]


def small(name: str) -> list[str]:
    """Assignments that make a recipe train two updates on little data."""
    recipe = load(name, model=False).recipe
    keys = [key for key in SMALL if key in type(recipe.data).model_fields]
    return [*_CHEAP, *(f"data.{key}={SMALL[key]}" for key in keys), *([] if recipe.init is None else ["init=null"])]


def test_there_are_recipes_that_run_offline() -> None:
    assert len(OFFLINE) >= 25


@pytest.mark.parametrize("name", OFFLINE)
def test_a_run_of_two_updates_has_a_page(name: str, tmp_path: Path) -> None:
    recipe = load(name, small(name)).recipe
    run = Run(tmp_path / recipe.run)
    with torch.device("cpu"):
        trainer = Trainer(recipe, run, screen=Screen(quiet=True))
        outcome = trainer.fit()
        t=time.time()
        made = run_page(trained_material(run.folder, trainer.splits, {"valid": outcome.valid, "test": outcome.test}))
        print(name, time.time()-t, len(made))
    page = Page(made)
    assert page.problems == []
    assert {"results", "curves", "attention", "examples", "data", "training", "recipe"} <= set(page.ids)
    Path(f"/work/scratch/report/pages/{name}.html").write_text(made)
