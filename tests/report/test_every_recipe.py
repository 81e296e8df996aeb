"""Every recipe that runs offline leaves a page, whatever its system; none is treated apart."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.recipes.library import shipped
from regard.recipes.load import load
from regard.report.material import ReportData, trained_material
from regard.report.run_page import run_page
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.report.pages import Page
from tests.train.tiny import on_cpu

OFFLINE = [name for name, path in shipped().items() if "data.root" not in path.read_text().partition("\n")[0]]
SMALL = {"train_size": 48, "valid_size": 7, "test_size": 11, "nodes": 120, "words": 24}
_CHEAP = [
    "train.steps=2",
    "train.valid_every=2",
    "train.log_every=1",
    "train.checkpoint_every=2",
    "evaluate.examples=1",
]


def small(name: str) -> list[str]:
    """Assignments that make a recipe train two updates on little data."""
    recipe = load(name, model=False).recipe
    rare = ["tokenizer.min_frequency=1"] if recipe.tokenizer.min_frequency > 1 else []
    keys = [key for key in SMALL if key in type(recipe.data).model_fields]
    return [
        *_CHEAP,
        *rare,
        *(f"data.{key}={SMALL[key]}" for key in keys),
        *([] if recipe.init is None else ["init=null"]),
    ]


def first_of_each_kind() -> list[str]:
    """Recipes of which no other has the same task and model before."""
    found: dict[tuple[str, str], str] = {}
    for name in OFFLINE:
        recipe = load(name, model=False).recipe
        found.setdefault((recipe.task, recipe.model.kind), name)
    return list(found.values())


def check_losses(found: ReportData) -> None:
    """The losses of all examples, each alone in its batch, add up to that of the split."""
    split, predictor = found.splits[found.split], found.predictor
    assert split is not None
    assert predictor is not None
    assert found.measured is not None
    batches = [predictor.task.example_batch(split, number) for number in range(len(split))]
    known = [batch for batch in batches if batch is not None]
    assert len(known) in (0, len(split))
    with torch.inference_mode():
        losses = [predictor.task.loss(predictor.model.eval(), batch) for batch in known]
    if losses:
        mean = sum(float(loss.nll) for loss in losses) / sum(loss.tokens for loss in losses)
        assert mean == pytest.approx(found.measured.loss, rel=1e-4)


FIRST = first_of_each_kind()


def test_there_are_recipes_that_run_offline() -> None:
    assert len(OFFLINE) >= 25


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FIRST else [pytest.mark.long]) for name in OFFLINE]
)
def test_a_run_of_two_updates_has_a_page(name: str, tmp_path: Path) -> None:
    recipe = load(name, small(name)).recipe
    run = Run(tmp_path / recipe.run)
    with on_cpu():
        trainer = Trainer(recipe, run, screen=Screen(quiet=True))
        outcome = trainer.fit()
        found = trained_material(run.folder, trainer.splits, {"valid": outcome.valid, "test": outcome.test})
        made = run_page(found)
        check_losses(found)
    page = Page(made)
    assert page.problems == []
    assert {"results", "curves", "attention", "examples", "data", "training", "recipe"} <= set(page.ids)
