"""Rotary positions: only distances count, also with a cache."""

from __future__ import annotations

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, Dot, Rotary, ScaledDot, rotate
from regard.nn.memory import Memory
from tests.mechanism import assert_close, check_gradients


def test_a_quarter_turn_by_hand() -> None:
    """base = 1: every pair turns by one radian a place."""
    turned = rotate(torch.tensor([[0.0, 1.0, 3.0, 4.0]]), start=2, base=1.0)
    assert_close(turned, [[-0.9092974, -0.4161468, -4.8856304, 1.0633051]])


def test_turning_keeps_lengths_and_distances() -> None:
    query, key = torch.randn(2, 3, 1, 8).double(), torch.randn(2, 3, 1, 8).double()
    assert_close(rotate(query, 11).norm(dim=-1), query.norm(dim=-1))
    near = (rotate(query, 5) * rotate(key, 2)).sum(-1)
    assert_close((rotate(query, 1005) * rotate(key, 1002)).sum(-1), near, tolerance=1e-9)
    assert not torch.allclose((rotate(query, 6) * rotate(key, 2)).sum(-1), near)


def test_step_by_step_with_a_cache_is_all_at_once() -> None:
    attention, x = Attention(Rotary(ScaledDot(6, 6, hidden_dim=4))).double(), torch.randn(2, 7, 6).double()
    at_once = attention(x, mask=Mask.causal())
    memory = attention.remember(x[:, :0])
    for t, word in enumerate(x.split(1, 1)):
        memory = memory.append(attention.remember(word))
        assert_close(attention.read(word, memory).context, at_once.context[:, t : t + 1], tolerance=1e-10)


def test_a_memory_cut_at_its_front_keeps_its_distances() -> None:
    attention, x = Attention(Rotary(Dot())).double(), torch.randn(1, 7, 6).double()
    whole = attention.remember(x)
    windowed = Memory(whole.key, whole.value, Mask.window(3))
    cut = Memory(whole.key[:, :, -3:], whole.value[:, :, -3:])
    assert_close(attention.read(x[:, -1:], cut).context, attention.read(x[:, -1:], windowed).context)


def test_order_matters_now() -> None:
    attention, x = Attention(Rotary(Dot())), torch.randn(1, 5, 6)
    swapped = x[:, [1, 0, 2, 3, 4]]
    assert not torch.allclose(attention(x).context[:, -1], attention(swapped).context[:, -1])


def test_gradients() -> None:
    check_gradients(lambda x: rotate(x, 3), torch.randn(2, 3, 4))


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match="a head's width must be even; got 5"):
        rotate(torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"need a score of inner products \(dot, scaled dot, cosine\); got Additive"):
        Rotary(Additive(3, 3, 3))
