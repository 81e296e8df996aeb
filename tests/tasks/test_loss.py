"""The loss by hand."""

from __future__ import annotations

import math

import pytest
import torch

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
