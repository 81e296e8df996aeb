"""Local attention with monotonic alignment."""

from __future__ import annotations

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, Dot, LocalM
from regard.ops import local_m_weights, masked_softmax
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert local_m_weights(torch.randn(2, 3, 5, 7), window=2).shape == (2, 3, 5, 7)


def test_value_by_hand() -> None:
    """Window 1: the first query sees keys 0 and 1, the fourth sees keys 2 and 3; energies 0 and log 3 alternate."""
    energy = torch.tensor([1.0, 3.0, 1.0, 3.0]).log().expand(1, 1, 4, 4)
    weights = local_m_weights(energy, window=1)
    assert_close(weights[0, 0, 0], [0.25, 0.75, 0.0, 0.0])
    assert_close(weights[0, 0, 1], [0.2, 0.6, 0.2, 0.0])
    assert_close(weights[0, 0, 3], [0.0, 0.0, 0.25, 0.75])


def test_mask() -> None:
    energy = torch.randn(2, 1, 5, 7)
    weights = local_m_weights(energy, Mask.padding([3, 0]), window=1)
    assert (weights[0, ..., 3:] == 0).all()
    assert (weights[1] == 0).all()
    assert_close(weights[:1, ..., :3], local_m_weights(energy[:1, ..., :3], window=1).double())


def test_gradients() -> None:
    check_gradients(lambda energy: local_m_weights(energy, Mask.padding([4, 2]), window=1), torch.randn(2, 2, 5, 4))


def test_the_window_moves_one_key_a_query_and_holds_all_the_weight() -> None:
    weights = local_m_weights(torch.randn(2, 3, 11, 13), window=2)
    distance = (torch.arange(13) - torch.arange(11).unsqueeze(1)).abs()
    assert torch.equal(weights > 0, (distance <= 2).expand_as(weights))
    assert_close(weights.sum(-1), torch.ones(2, 3, 11))


def test_a_window_past_the_end_is_empty() -> None:
    """Three keys and window 2: query 4 still sees key 2, query 5 sees nothing, and sends nothing back."""
    energy = torch.randn(1, 1, 7, 3, requires_grad=True)
    weights = local_m_weights(energy, window=2)
    assert_close(weights[0, 0, 4], [0.0, 0.0, 1.0])
    assert (weights[0, 0, 5:] == 0).all()
    (grad,) = torch.autograd.grad(weights.square().sum(), energy)
    assert torch.isfinite(grad).all()
    assert (grad[0, 0, 5:] == 0).all()


def test_a_wide_window_is_global_attention() -> None:
    energy, mask = torch.randn(2, 3, 5, 7), Mask.padding([7, 4])
    assert_close(local_m_weights(energy, mask, window=7), masked_softmax(energy, mask).double())


def test_module_computes_the_equation() -> None:
    query, key = torch.randn(2, 5, 3), torch.randn(2, 11, 3)
    far = (torch.arange(11) - torch.arange(5).unsqueeze(1)).abs() > 2
    expected = (query @ key.mT).masked_fill(far, -torch.inf).softmax(-1) @ key
    assert_close(Attention(Dot(), LocalM(window=2))(query, key).context, expected.double(), tolerance=1e-5)


def test_step_by_step_equals_all_at_once() -> None:
    attention = Attention(Additive(3, 5, hidden_dim=7), LocalM(window=1))
    query, key, mask = torch.randn(2, 6, 3), torch.randn(2, 7, 5), Mask.padding([7, 3])
    out, memory, state = attention(query, key, mask=mask), attention.remember(key, mask=mask), None
    for rows in (slice(0, 1), slice(1, 4), slice(4, 6)):
        part = attention.read(query[:, rows], memory, state)
        assert_close(part.weights(), out.weights(rows=rows).double(), tolerance=1e-5)
        assert_close(part.context, out.context[:, rows].double(), tolerance=1e-5)
        state = part.state


def test_past_the_end_nothing_is_seen_or_the_last_word() -> None:
    """Of three words, by a window of one: query 4 and those after it see nothing, or what query 2 sees."""
    energy, mask = torch.randn(2, 1, 1, 7).expand(-1, -1, 6, -1), Mask.padding([3, 7])
    gone, held = (local_m_weights(energy, mask, window=1, hold=hold) for hold in (False, True))
    assert (gone[0, 0, 4:] == 0).all()
    assert_close(held[0, 0, 3:], held[0, :, 2].expand(3, -1).double())
    assert torch.equal(held[:, :, :3], gone[:, :, :3])
    assert torch.equal(held[1], gone[1]), "the other sequence is longer"
    assert_close(local_m_weights(energy[:1, ..., :3], window=1, hold=True), held[:1, ..., :3].double())
    attention = Attention(Dot(), LocalM(window=1, hold=True))
    query, key = torch.randn(2, 6, 5), torch.randn(2, 7, 5)
    out, last = attention(query, key, mask=mask), attention.remember(key, mask=mask)
    step = attention.read(query[:, 5:], last, attention.read(query[:, :5], last).state)
    assert_close(step.context, out.context[:, 5:].double(), tolerance=1e-6)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="local_m: window and step count keys and queries; got window=-1, step=0"):
        local_m_weights(torch.randn(1, 1, 2, 3), window=-1)
    with pytest.raises(ValueError, match=r"local_m: energy must be \[B, H, T, S\]; got shape \[2, 3\]"):
        local_m_weights(torch.randn(2, 3), window=1)
