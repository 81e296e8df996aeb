"""Dot-product attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, Bilinear, Dot
from regard.ops import dot_attention, dot_score
from tests.mechanism import assert_close, check_gradients

IMPLS = ("reference", "sdpa")


@pytest.mark.parametrize("impl", IMPLS)
def test_shapes(impl: str) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    out = dot_attention(query, key, value, impl=impl)
    assert out.context.shape == (2, 3, 5, 13)
    assert out.weights().shape == (2, 3, 5, 11)
    assert dot_score(query, key).shape == (2, 3, 5, 11)


@pytest.mark.parametrize("impl", IMPLS)
def test_value_by_hand(impl: str) -> None:
    """(1, 2).(3, 1) = 5 and (1, 2).(0, 2) = 4: one nat apart."""
    query, key = torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[[[3.0, 1.0], [0.0, 2.0]]]])
    first = math.e / (1 + math.e)
    out = dot_attention(query, key, torch.tensor([[[[1.0], [3.0]]]]), impl=impl)
    assert_close(dot_score(query, key), [[[[5.0, 4.0]]]])
    assert_close(out.weights(), [[[[first, 1 - first]]]])
    assert_close(out.context, [[[[first + 3 * (1 - first)]]]])


@pytest.mark.parametrize("impl", IMPLS)
def test_mask(impl: str) -> None:
    query, key, value = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5), torch.randn(2, 1, 7, 2)
    out = dot_attention(query, key, value, Mask.padding([4, 0]), impl=impl)
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(1, 3))
    assert (out.context[1] == 0).all()
    assert (out.weights()[1] == 0).all()
    shorter = dot_attention(query[:1], key[:1, :, :4], value[:1, :, :4], impl=impl)
    assert_close(out.context[:1], shorter.context.double())


@pytest.mark.parametrize("mask", [Mask.padding([3, 0]) & Mask.causal(), Mask.causal(), None], ids=str)
@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str, mask: Mask | None) -> None:
    mask = None if mask is None else mask.to(torch.get_default_device())

    def read(query, key, value):  # type: ignore[no-untyped-def]
        out = dot_attention(query, key, value, mask, impl=impl)
        return out.context, out.weights()

    check_gradients(read, torch.randn(2, 2, 4, 3), torch.randn(2, 2, 4, 3), torch.randn(2, 2, 4, 2))


def test_energies_are_linear_in_the_query() -> None:
    one, other, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    expected = 2 * dot_score(one, key) - 3 * dot_score(other, key)
    assert_close(dot_score(2 * one - 3 * other, key), expected.double(), tolerance=1e-4)


@pytest.mark.parametrize("impl", IMPLS)
def test_turning_queries_and_keys_together_changes_nothing(impl: str) -> None:
    """Only angles and lengths count: the property of this score."""
    query, key, value = (torch.randn(1, 2, length, 5).double() for length in (3, 7, 7))
    turn = torch.linalg.qr(torch.randn(5, 5).double()).Q
    turned = dot_attention(query @ turn, key @ turn, value, impl=impl)
    assert_close(turned.context, dot_attention(query, key, value, impl=impl).context)


def test_module_without_maps_compares_as_they_are() -> None:
    query, key = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    out = Attention(Dot())(query, key)
    assert_close(out.weights(), (query @ key.mT).softmax(-1).double(), tolerance=1e-5)
    assert_close(out.context, ((query @ key.mT).softmax(-1) @ key).double(), tolerance=1e-5)


def test_the_second_option_of_the_notes() -> None:
    """k_i = W_K h_i, q = W_Q s, a = softmax(k_iᵀ q), c = sum_i a_i h_i."""
    score = Dot(query_dim=3, key_dim=5, hidden_dim=7)
    state, hidden = torch.randn(2, 1, 3), torch.randn(2, 11, 5)
    assert score.query_map is not None
    assert score.key_map is not None
    k = torch.stack([hidden[:, i] @ score.key_map.weight.T for i in range(11)], dim=1)
    q = state[:, 0] @ score.query_map.weight.T
    alpha = torch.stack([(k[:, i] * q).sum(-1) for i in range(11)], dim=1).softmax(-1)
    context = sum(alpha[:, i, None] * hidden[:, i] for i in range(11))
    out = Attention(score)(state, hidden)
    assert_close(out.weights()[:, 0], alpha.double(), tolerance=1e-5)
    assert_close(out.context[:, 0], context.double(), tolerance=1e-5)


def test_the_first_option_of_the_notes_is_additive() -> None:
    """vᵀ tanh(W [h; s]) with the two blocks of W side by side."""
    score = Additive(query_dim=3, key_dim=5, hidden_dim=7)
    state, hidden = torch.randn(2, 1, 3), torch.randn(2, 11, 5)
    assert score.query_map is not None
    assert score.key_map is not None
    w = torch.cat((score.key_map.weight, score.query_map.weight), dim=1)
    energy = torch.tanh(torch.cat((hidden, state.expand(-1, 11, -1)), dim=2) @ w.T) @ score.weight[0]
    assert_close(Attention(score)(state, hidden).weights()[:, 0], energy.softmax(-1).double(), tolerance=1e-5)


def test_two_maps_are_one_bilinear_form_of_low_rank() -> None:
    """(W_Q s)ᵀ (W_K h) = sᵀ (W_Qᵀ W_K) h."""
    score, form = Dot(query_dim=6, key_dim=5, hidden_dim=2), Bilinear(query_dim=6, key_dim=5)
    assert score.query_map is not None
    assert score.key_map is not None
    with torch.no_grad():
        form.weight[0] = 5**0.5 * score.query_map.weight.T @ score.key_map.weight
    query, key = torch.randn(2, 3, 6), torch.randn(2, 7, 5)
    assert_close(Attention(score)(query, key).context, Attention(form)(query, key).context.double(), tolerance=1e-5)


def test_step_by_step_is_all_at_once() -> None:
    attention = Attention(Dot(query_dim=3, key_dim=5, hidden_dim=7))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 11, 5), Mask.padding([11, 6])
    memory, state = attention.remember(key, mask=mask), None
    contexts = []
    for row in query.split(1, dim=1):
        out = attention.read(row, memory, state)
        state = out.state
        contexts.append(out.context)
    assert state is not None
    assert state.step == 4
    assert_close(torch.cat(contexts, dim=1), attention(query, key, mask=mask).context.double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    with pytest.raises(ValueError, match=r"dot: query .* share B, H and D; got \[2, 3, 5, 7\] and \[2, 3, 11, 6\]"):
        dot_attention(query, key[..., :6], key)
    with pytest.raises(ValueError, match=r"share B, H and S; got \[2, 3, 11, 7\] and \[2, 3, 10, 7\]"):
        dot_attention(query, key, key[:, :, :10])
    with pytest.raises(ValueError, match=r"dot: query must be \[B, H, length, width\]; got shape \[3, 5, 7\]"):
        dot_attention(query[0], key, key)
    with pytest.raises(ValueError, match="dot: no implementation 'flash'; there are reference, sdpa"):
        dot_attention(query, key, key, impl="flash")
    with pytest.raises(ValueError, match="Dot: hidden_dim=7 needs query_dim and key_dim too"):
        Dot(hidden_dim=7)
