"""NT-ASGD against algorithm 1 of the paper, step by step."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.train.nt_asgd import NTASGD

LOSSES = [5.0, 4.0, 3.0, 3.5, 3.2, 3.1, 3.3]


@pytest.mark.parametrize(("interval", "triggered"), [(1, 4), (2, 5), (3, 6), (5, None)])
def test_the_trigger(interval: int, triggered: int | None) -> None:
    """The best, 3.0, is validation 2: from validation 4 on it is before the last one, from 5 on before the last two."""
    optimizer = NTASGD([nn.Parameter(torch.zeros(2))], lr=1.0, interval=interval)
    found = []
    for loss in LOSSES:
        optimizer.observe(loss, higher_is_better=False)
        found.append(optimizer.is_averaging)
    assert found == [triggered is not None and number >= triggered for number in range(len(LOSSES))]


def test_a_metric_that_grows_is_turned_round() -> None:
    optimizer = NTASGD([nn.Parameter(torch.zeros(2))], lr=1.0, interval=1)
    for accuracy in (0.5, 0.6, 0.7):
        optimizer.observe(accuracy, higher_is_better=True)
    assert not optimizer.is_averaging
    optimizer.observe(0.4, higher_is_better=True)
    assert optimizer.is_averaging


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_descent_is_sgd_and_the_mean_is_that_of_all_weights_after_the_trigger(momentum: float) -> None:
    ours, theirs = (nn.Parameter(torch.ones(3, dtype=torch.float64)) for _ in range(2))
    optimizer = NTASGD([ours], lr=0.1, interval=1, momentum=momentum, weight_decay=0.01)
    plain = torch.optim.SGD([theirs], lr=0.1, momentum=momentum, weight_decay=0.01)
    seen = []
    for step in range(7):
        if step == 3:
            with optimizer.averaged():
                assert torch.equal(ours, theirs)  # nothing is averaged yet
            for loss in (1.0, 1.0, 2.0):
                optimizer.observe(loss, higher_is_better=False)
        gradient = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) * (step + 1)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        optimizer.step()
        plain.step()
        assert torch.equal(ours, theirs)
        if step >= 3:
            seen.append(theirs.detach().clone())
    last = ours.data_ptr()
    with optimizer.averaged():
        torch.testing.assert_close(ours.data, torch.stack(seen).mean(0))
        assert ours.data_ptr() == last
    assert torch.equal(ours, theirs)


def test_the_weights_come_back_after_an_error() -> None:
    weight = nn.Parameter(torch.zeros(1))
    optimizer = NTASGD([weight], lr=1.0, interval=1)
    for loss in (1.0, 1.0, 2.0):
        optimizer.observe(loss, higher_is_better=False)
    for gradient in (-1.0, -1.0):
        weight.grad = torch.tensor([gradient])
        optimizer.step()
    with pytest.raises(RuntimeError, match="stopped"):
        _stopped_inside(optimizer, weight)
    assert weight.item() == 2.0


def _stopped_inside(optimizer: NTASGD, weight: nn.Parameter) -> None:
    with optimizer.averaged():
        assert weight.item() == 1.5
        raise RuntimeError("stopped")
