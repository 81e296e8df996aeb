"""Machines of several seeds trained as one: each is the machine that is trained alone."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from benchmarks import side_by_side
from regard.data.batching.feed import BatchPosition
from regard.recipes.load import load
from regard.runs.run import Run
from regard.tasks.build import make_model
from regard.tasks.setup import prepare
from regard.train.screen import Screen
from regard.train.trainer import Trainer

SMALL = [
    *("data.bits=3", "data.longest=4", "data.valid_size=8", "data.test_size=8", "model.hidden_dim=11", "model.rows=7"),
    *("model.row_dim=5", "train.steps=7", "train.valid_every=3", "train.clip=0.1", "train.batch.sentences=5"),
]


@pytest.mark.parametrize("controller", ["feedforward", "lstm"])
def test_each_is_the_machine_that_is_trained_alone(controller: str, tmp_path: Path) -> None:
    recipes = [
        load("ntm_copy", [*SMALL, f"model.controller={controller}", f"train.seed={seed}", f"run=seed{seed}"]).recipe
        for seed in (3, 5, 8)
    ]
    side_by_side.train(recipes, tmp_path / "together", torch.device("cpu"))
    for recipe in recipes:
        alone, together = (Run(tmp_path / kind / recipe.run) for kind in ("alone", "together"))
        Trainer(recipe, alone, screen=Screen(quiet=True)).fit()
        torch.testing.assert_close(together.tensors(), alone.tensors(), atol=2e-5, rtol=1e-4)
        assert together.recipe() == alone.recipe()
        bits = [
            [row["bits_per_sequence"] for row in run.metrics if row["split"] == "valid"] for run in (together, alone)
        ]
        assert bits[0] == pytest.approx(bits[1], rel=1e-4)
        assert len(bits[0]) == 3


@pytest.mark.filterwarnings("ignore")  # of what the compiler looks at on its way
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.long)])
def test_a_compiled_step_is_the_step(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced forward and backward in each suite; the C++ that is made of it takes half a minute more."""
    if backend == "inductor" and shutil.which("c++") is None:
        pytest.skip("what is compiled takes a C++ compiler")
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    recipe = load("ntm_copy", [*SMALL, "model.controller=lstm", "model.read_heads=2"]).recipe
    with TemporaryDirectory() as cache:
        task, feed = (setup := prepare(recipe, Path(cache))).task, setup.feed
    losses, slopes = [], []
    for compiled in (False, True):
        torch.manual_seed(0)
        machines = side_by_side.SideBySide([make_model(recipe, task) for _ in range(3)], task, compiled=compiled)
        losses.append(machines.losses(feed.batch(BatchPosition(0, 0))))
        losses[-1].sum().backward()
        slopes.append([part.grad for part in machines.parameters()])
    torch.testing.assert_close(losses[0], losses[1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(slopes[0], slopes[1], atol=1e-4, rtol=1e-4)


def test_each_machine_keeps_its_best_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [*SMALL, "train.valid_every=1", "train.schedule={name: constant}"]
    for steps in (2, 3):
        recipes = [
            load("ntm_copy", [*given, f"train.steps={steps}", f"train.seed={seed}", f"run=s{seed}"]).recipe
            for seed in (1, 2)
        ]
        measured = iter([(5.0, 3.0), (4.0, 2.0), (4.5, 1.0)])
        monkeypatch.setattr(side_by_side, "validate", lambda *_, found=measured: torch.tensor(next(found)))
        side_by_side.train(recipes, tmp_path / str(steps), torch.device("cpu"))
    first, second = ([Run(tmp_path / steps / name).tensors() for steps in ("2", "3")] for name in ("s1", "s2"))
    torch.testing.assert_close(*first, atol=0, rtol=0)
    assert all(not torch.equal(second[0][name], second[1][name]) for name in second[0])


def test_a_cell_is_that_of_torch() -> None:
    torch.manual_seed(0)
    x, hidden, cell = torch.randn(5, 3), torch.randn(5, 7), torch.randn(5, 7)
    weights = torch.randn(28, 3), torch.randn(28, 7), torch.randn(28), torch.randn(28)
    torch.testing.assert_close(
        side_by_side.lstm_cell(x, (hidden, cell), *weights),
        torch.lstm_cell(x, (hidden, cell), *weights),
        atol=1e-6,
        rtol=1e-6,
    )


def test_each_machine_has_a_gradient_of_its_own_length() -> None:
    one, other = torch.tensor([[3.0, 0.0], [0.3, 0.0], [torch.inf, 1.0]]), torch.tensor([[4.0], [0.4], [1.0]])
    side_by_side.clip([one, other], 2.5)
    torch.testing.assert_close(one, torch.tensor([[1.5, 0.0], [0.3, 0.0], [0.0, 0.0]]))
    torch.testing.assert_close(other, torch.tensor([[2.0], [0.4], [0.0]]))


def test_gradients_without_a_limit_stay() -> None:
    gradient = torch.tensor([[30.0], [torch.nan]])
    side_by_side.clip([gradient], None)
    torch.testing.assert_close(gradient, torch.tensor([[30.0], [0.0]]))
