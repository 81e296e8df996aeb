"""Dropout as torch has it, by other draws."""

from __future__ import annotations

import pytest
import torch

from regard.nn.dropout import Dropout


@pytest.fixture(autouse=True)
def _on_cpu(_on_device: None) -> None:
    torch.set_default_device(None)  # where the draws are ours


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_each_channel_is_dropped_as_often_as_asked(p: float) -> None:
    count = 40_000
    left = Dropout(p)(torch.ones(count, 4)) != 0  # the four that share a draw
    spread = (p * (1 - p) / count) ** 0.5
    assert ((1 - left.double().mean(0)) - p).abs().max().item() < 5 * spread
    together = (left[:, :-1] & left[:, 1:]).double().mean(0)
    assert (together - (1 - p) ** 2).abs().max().item() < 5 * count**-0.5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_what_is_kept_is_scaled_and_so_is_its_gradient(dtype: torch.dtype) -> None:
    x = torch.full((3, 5, 7), 2.0, dtype=dtype, requires_grad=True)
    y = Dropout(0.25)(x)
    assert y.dtype == dtype
    assert set(y.flatten().tolist()) == {0.0, (x.detach()[0, 0, 0] * torch.tensor(4 / 3, dtype=dtype)).item()}
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad * x.detach(), y.detach())


def test_one_seed_gives_one_draw_and_two_draws_differ() -> None:
    x, layer = torch.ones(1001), Dropout(0.5)
    torch.manual_seed(1)
    first, second = layer(x), layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, second)


def test_the_ends_of_the_range() -> None:
    x = torch.rand(2, 9)
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(Dropout(0.3).eval()(x), x)
    assert Dropout(1.0)(x).abs().sum() == 0
    assert torch.isfinite(Dropout(1 - 1e-9)(x)).all()
    assert Dropout(0.5)(x[:0]).shape == (0, 9)


def test_a_strided_input_is_dropped_where_it_stands() -> None:
    x = torch.rand(5, 7).t() + 1
    y = Dropout(0.5)(x)
    assert torch.allclose(y[y != 0], 2 * x[y != 0])
    assert 0 < (y == 0).sum() < x.numel()
