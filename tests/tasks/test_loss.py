"""The loss by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from regard.specials import IGNORE
from regard.tasks.loss import token_loss


def test_smoothing_by_hand() -> None:
    logits = torch.tensor([[[math.log(0.5), math.log(0.25), math.log(0.25)]]])
    total, nll = token_loss(logits, torch.tensor([[1]]), padding=0, smoothing=0.3)
    assert float(nll) == pytest.approx(math.log(4))
    assert total.item() == pytest.approx(0.7 * math.log(4) + 0.1 * (math.log(2) + 2 * math.log(4)))


def test_padding_counts_for_nothing() -> None:
    logits = torch.randn(2, 5, 7, requires_grad=True)
    target = torch.tensor([[1, 2, 3, 0, 0], [4, 0, 0, 0, 0]])
    total, _ = token_loss(logits, target, padding=0, smoothing=0.1)
    total.backward()
    assert logits.grad is not None
    assert bool((logits.grad[target == 0] == 0).all())
    rows = logits.detach()
    parts = [
        token_loss(rows[row, :n][None], target[row, :n][None], padding=0, smoothing=0.1)[0]
        for row, n in ((0, 3), (1, 1))
    ]
    assert total.item() == pytest.approx(float(sum(parts)), rel=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("padding", [0, IGNORE])
def test_value_and_gradient_are_those_of_torch(smoothing: float, padding: int) -> None:
    ours = torch.randn(3, 5, 7, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    target = torch.randint(1, 7, (3, 5))
    target[1, 2:] = padding
    total, nll = token_loss(ours, target, padding=padding, smoothing=smoothing)
    flat, places = theirs.flatten(0, 1), target.flatten()
    wanted = F.cross_entropy(flat, places, ignore_index=padding, label_smoothing=smoothing, reduction="sum")
    (2.5 * total).backward()
    (2.5 * wanted).backward()
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(nll, F.cross_entropy(flat.detach(), places, ignore_index=padding, reduction="sum"))
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_the_gradient_can_be_asked_for_once_and_says_so() -> None:
    logits = torch.randn(1, 2, 3, requires_grad=True)
    total, nll = token_loss(logits, torch.tensor([[1, 2]]), padding=0)
    assert not nll.requires_grad
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
