"""The optimizer of a recipe."""

from __future__ import annotations

import torch
from torch import nn

from regard.recipes.sections import TrainSection
from regard.train.objective import make_optimizer


def section(name: str) -> TrainSection:
    return TrainSection.model_validate({"steps": 1, "batch": {"sentences": 1}, "optimizer": {"name": name}})


def test_adam_is_fused_on_a_cpu_and_left_to_torch_elsewhere() -> None:
    for name in ("adam", "adamw"):
        assert make_optimizer(section(name), nn.Linear(3, 5, device="cpu").parameters()).defaults["fused"]
        mixed = nn.Sequential(nn.Linear(3, 5, device="cpu"), nn.Linear(3, 5, device="meta"))
        assert make_optimizer(section(name), mixed.parameters()).defaults["fused"] is None


def test_fused_steps_are_those_of_the_plain_rule() -> None:
    ours, theirs = nn.Linear(3, 5), nn.Linear(3, 5)
    theirs.load_state_dict(ours.state_dict())
    plain = torch.optim.Adam(theirs.parameters(), lr=1e-3, foreach=False, fused=False)
    for layer, optimizer in ((ours, make_optimizer(section("adam"), ours.parameters())), (theirs, plain)):
        for step in range(3):
            optimizer.zero_grad()
            layer(torch.full((2, 3), 1.0 + step)).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)
