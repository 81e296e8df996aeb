"""Captured updates of shipped recipes look at no value: on tensors without values, looking is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.cuda_capture import recording
from regard.recipes.load import load
from regard.runs.run import Run
from regard.train.cuda_graphs import is_host_bound, obstacle, padding_batch, recorded_sizes
from regard.train.screen import Screen
from regard.train.trainer import Trainer

SMALL = ("data.train_size=40", "data.valid_size=4", "data.test_size=4", "train.batch={sentences: 8}")
COPYING = ("model.copy=true", "model.coverage=0.5")
RECIPES = {
    "tones": (),
    "tones_listener": (),
    "inns": ("tokenizer.min_frequency=1",),
    "notices": COPYING,
    "smalltalk": COPYING,
    "airs": (),
    "endings": (),
    "sentence_opinions": (),
}


@pytest.mark.parametrize("name", RECIPES)
def test_no_update_waits_for_the_device(name: str, tmp_path: Path) -> None:
    recipe = load(name, [*SMALL, *RECIPES[name]]).recipe
    made = Trainer(recipe, Run(tmp_path / "run"), screen=Screen(quiet=True))
    assert is_host_bound(made.model, made.task)
    assert obstacle(made.model, made.task) is None
    batch = made.feed.batch(next(made.feed.after(0, 0)))
    empty = padding_batch(batch, recorded_sizes(batch), torch.device("meta"))
    model = made.model.to("meta").train()
    with recording():
        total = made.task.loss(model, empty, update=0).total
    parameters = [one for one in model.parameters() if one.requires_grad]
    found = torch.autograd.grad(total, parameters, allow_unused=True)
    assert {one.device.type for one in found if one is not None} == {"meta"}
    with pytest.raises(RuntimeError, match="meta"):
        total.item()
