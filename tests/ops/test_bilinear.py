"""Bilinear attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Attention, Bilinear
from regard.ops import (
    additive_attention,
    bilinear_attention,
    bilinear_score,
    concat_attention,
    cosine_attention,
    dot_attention,
)
from tests.mechanism import assert_close, check_gradients

IMPLS = ("reference", "sdpa")


@pytest.mark.parametrize("impl", IMPLS)
def test_shapes(impl: str) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 13), torch.randn(2, 3, 11, 17)
    out = bilinear_attention(query, key, value, torch.randn(3, 7, 13), impl=impl)
    assert out.context.shape == (2, 3, 5, 17)
    assert out.weights().shape == (2, 3, 5, 11)
    assert bilinear_score(query, key, torch.randn(3, 7, 13)).shape == (2, 3, 5, 11)


@pytest.mark.parametrize("impl", IMPLS)
def test_value_by_hand(impl: str) -> None:
    """q = (1, 2) is carried to qᵀ W = (1, 2, 1), which meets the keys (1, 0, 0) and (0, 1, 0) with 1 and 2."""
    query, key = torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]])
    weight = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])
    second = math.e / (1 + math.e)
    out = bilinear_attention(query, key, torch.tensor([[[[1.0], [3.0]]]]), weight, impl=impl)
    assert_close(bilinear_score(query, key, weight), [[[[1.0, 2.0]]]])
    assert_close(out.weights(), [[[[1 - second, second]]]])
    assert_close(out.context, [[[[1 + 2 * second]]]])


@pytest.mark.parametrize("impl", IMPLS)
def test_mask(impl: str) -> None:
    query, key, value = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 4), torch.randn(2, 1, 7, 2)
    weight = torch.randn(1, 5, 4)
    out = bilinear_attention(query, key, value, weight, Mask.padding([4, 0]), impl=impl)
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(1, 3))
    assert (out.context[1] == 0).all()
    shorter = bilinear_attention(query[:1], key[:1, :, :4], value[:1, :, :4], weight, impl=impl)
    assert_close(out.context[:1], shorter.context.double())


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str) -> None:
    mask = Mask.padding([3, 0]) & Mask.causal()

    def read(query, key, value, weight):  # type: ignore[no-untyped-def]
        out = bilinear_attention(query, key, value, weight, mask, impl=impl)
        return out.context, out.weights()

    check_gradients(
        read, torch.randn(2, 2, 2, 3), torch.randn(2, 2, 4, 5), torch.randn(2, 2, 4, 2), torch.randn(2, 3, 5)
    )


@pytest.mark.parametrize("impl", IMPLS)
def test_the_identity_is_dot(impl: str) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    out = bilinear_attention(query, key, value, torch.eye(7).expand(3, 7, 7), impl=impl)
    assert_close(out.context, dot_attention(query, key, value, impl=impl).context.double(), tolerance=1e-5)


def test_transposing_the_form_swaps_query_and_key() -> None:
    """qᵀ W k = kᵀ Wᵀ q: the form has no preferred side, the softmax has."""
    query, key, weight = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 13), torch.randn(3, 7, 13)
    assert_close(bilinear_score(query, key, weight), bilinear_score(key, query, weight.mT).mT.double(), tolerance=1e-4)


def test_module_computes_the_equation() -> None:
    score = Bilinear(query_dim=3, key_dim=5)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    matrix = score.weight[0] / 5**0.5
    expected = torch.einsum("bqi,ij,bkj->bqk", query, matrix, key).softmax(-1)
    out = Attention(score)(query, key)
    assert_close(out.weights(), expected.double(), tolerance=1e-5)
    assert_close(out.context, (expected @ key).double(), tolerance=1e-5)


def test_step_by_step_is_all_at_once() -> None:
    attention = Attention(Bilinear(query_dim=3, key_dim=5))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 11, 5), Mask.padding([11, 6])
    memory = attention.remember(key, mask=mask)
    steps = [attention.read(row, memory).context for row in query.split(1, dim=1)]
    assert_close(torch.cat(steps, dim=1), attention(query, key, mask=mask).context.double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 13)
    with pytest.raises(ValueError, match=r"weight must be \[H, Dq, D\] = \[3, 7, 13\]; got \[3, 13, 7\]"):
        bilinear_attention(query, key, key, torch.randn(3, 13, 7))
    with pytest.raises(ValueError, match=r"weight must be \[H, Dq, D\] = \[3, 7, 13\]; got \[7, 13\]"):
        bilinear_attention(query, key, key, torch.randn(7, 13))
    with pytest.raises(ValueError, match=r"bilinear: .* share B, H and S; got \[2, 3, 11, 13\] and \[2, 3, 4, 13\]"):
        bilinear_attention(query, key, key[:, :, :4], torch.randn(3, 7, 13))
    with pytest.raises(ValueError, match="bilinear: no implementation 'flash'; there are reference, sdpa"):
        bilinear_attention(query, key, key, torch.randn(3, 7, 13), impl="flash")


def test_a_mask_in_the_place_of_a_weight_is_told_where_it_belongs() -> None:
    vectors, mask = torch.randn(1, 1, 2, 3), Mask.causal()
    for read in (additive_attention, bilinear_attention, concat_attention, cosine_attention):
        with pytest.raises(TypeError, match="must be a tensor, not Mask; a mask is given as mask="):
            read(vectors, vectors, vectors, mask, mask)  # type: ignore[operator]
