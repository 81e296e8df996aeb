"""The memory of a step that a dry run foretells is the memory that a step takes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.recipes.sections import Recipe
from regard.tasks.build import make_model
from regard.tasks.setup import Setup, prepare
from regard.train.dry_run import memory_message, plan
from regard.train.footprint import forecast, large_places
from regard.train.objective import Objective, make_optimizer
from tests.train.tiny import recipe

TRANSFORMER = "model={kind: transformer, num_layers: 2, dim: 16, num_heads: 2, dropout: 0.1}"


def kept_by_a_step(given: Recipe, setup: Setup, model: torch.nn.Module, position: int) -> int:
    """What autograd keeps of a whole batch, by the tensors themselves."""
    place = next(setup.feed.after(0, position))
    batch = setup.feed.batch(place)
    objective = Objective(model, setup.task, narrow=given.train.precision == "bfloat16").train()
    own = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *batch.tensors.values())}
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        loss, *_ = objective(batch, given.train.steps - 1)
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in kept}
    loss.backward()
    return sum(size for place, size in storages.items() if place not in own)


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["train.batch={tokens: 150}", "data.longest=9"],
        ["train.batch={sentences: 7}"],
        ["train.exposure={sampling: {k: 2}}"],
        ["model={kind: luong, embedding_dim: 8, hidden_dim: 16, cells: lstm}", "data.longest=12"],
        [TRANSFORMER],
        [TRANSFORMER, "train.batch={tokens: 150}", "data.longest=9"],
        [TRANSFORMER, "train.precision=bfloat16"],
    ],
    ids=" ".join,
)
def test_activations_are_those_of_the_largest_batch(tmp_path: Path, overrides: list[str]) -> None:
    given = recipe("data.train_size=60", *overrides)
    setup = prepare(given, tmp_path)
    model = make_model(given, setup.task)
    needed = forecast(given, setup, model)
    true = max(kept_by_a_step(given, setup, model, position) for position in range(setup.feed.per_epoch))
    assert needed.activations == pytest.approx(true, rel=0.03)


RMSPROP = ("{name: rmsprop}", "{name: rmsprop, momentum: 0.9}")


@pytest.mark.parametrize("optimizer", ["{name: adam}", "{name: sgd}", "{name: sgd, momentum: 0.9}", *RMSPROP])
def test_parameters_gradients_and_moments_are_exact(tmp_path: Path, optimizer: str) -> None:
    given = recipe(f"train.optimizer={optimizer}")
    setup = prepare(given, tmp_path)
    model = make_model(given, setup.task)
    needed = forecast(given, setup, model)
    rule = make_optimizer(given.train, model.parameters())
    objective = Objective(model, setup.task)
    objective(setup.feed.batch(large_places(setup.feed)[0]), 0)[0].backward()
    rule.step()
    parameters = list(model.parameters())
    assert needed.parameters == sum(parameter.nbytes for parameter in parameters)
    assert needed.gradients == sum(parameter.grad.nbytes for parameter in parameters if parameter.grad is not None)
    moments = [value for state in rule.state.values() for value in state.values() if value is not None and value.dim()]
    assert needed.optimizer == sum(moment.nbytes for moment in moments)


def test_the_largest_batch_is_the_one_with_the_most_cells_or_pairs(tmp_path: Path) -> None:
    setup = prepare(recipe("train.batch={tokens: 150}", "data.longest=9"), tmp_path)
    shapes = []
    for position in range(setup.feed.per_epoch):
        batch = setup.feed.batch(next(setup.feed.after(0, position)))
        rows, width = batch.size, batch["source"].shape[1] + batch["target"].shape[1]
        shapes.append((rows * width, rows * width**2))
    chosen = [shapes[place.position] for place in large_places(setup.feed)]
    assert max(cells for cells, _ in chosen) == max(cells for cells, _ in shapes)
    assert max(pairs for _, pairs in chosen) == max(pairs for _, pairs in shapes)


def test_windows_of_a_text_are_all_as_large(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a b c d e f g h\n" * 40)
    given = recipe(
        "task=language_model",
        f"data={{format: text, root: {tmp_path}, train: text.txt, valid: text.txt}}",
        "model={kind: language_model, embedding_dim: 64, hidden_dim: 64}",
        "train.batch={sentences: 16, window: 12}",
        "evaluate={metrics: []}",
    )
    setup = prepare(given, tmp_path / "cache")
    model = make_model(given, setup.task)
    needed = forecast(given, setup, model)
    assert list(needed.batch["text"].shape) == [16, 13]
    assert needed.activations == pytest.approx(kept_by_a_step(given, setup, model, 0), rel=0.03)


def test_what_does_not_fit_is_said() -> None:
    fits = "1.0 GiB of the GPU's memory are free, and a step needs at least 3.0 MiB"
    assert memory_message(3 * 2**20, 2**30) == fits
    said = memory_message(3 * 2**30, 2**30)
    assert "too large" in said
    assert said.endswith("are free, and a step needs at least 3.0 GiB; make train.batch smaller")


def test_a_plan_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert len(list(plan(recipe()))) >= 3
    assert list(tmp_path.iterdir()) == []
