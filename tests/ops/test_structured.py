"""Structured self-attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import StructuredSelfAttention
from regard.ops import Attended, additive_attention, frobenius_penalty, structured_attention
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    out = structured_attention(torch.randn(2, 11, 7), torch.randn(5, 7), torch.randn(3, 5))
    assert out.context.shape == (2, 3, 7)
    assert out.weights().shape == (2, 3, 11)
    assert frobenius_penalty(out.weights()).shape == (2,)


def test_value_by_hand() -> None:
    """One hidden unit; the second hop's weight is twice the first's."""
    hidden = torch.tensor([[[0.0], [1.0]]])
    out = structured_attention(hidden, torch.tensor([[1.0]]), torch.tensor([[1.0], [2.0]]))
    first, second = (1 / (1 + math.exp(-strength * math.tanh(1))) for strength in (1, 2))
    assert_close(out.weights(), [[[1 - first, first], [1 - second, second]]])
    assert_close(out.context, [[[first], [second]]])


def test_mask() -> None:
    hidden, inner, outer = torch.randn(2, 7, 5), torch.randn(3, 5), torch.randn(4, 3)
    out = structured_attention(hidden, inner, outer, Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert (out.weights()[1] == 0).all()
    assert (out.context[1] == 0).all()
    shorter = structured_attention(hidden[:1, :4], inner, outer)
    assert_close(out.context[:1], shorter.context.double())
    assert_close(frobenius_penalty(out.weights())[:1], frobenius_penalty(shorter.weights()).double())


def test_gradients() -> None:
    def read(hidden, inner, outer):  # type: ignore[no-untyped-def]
        out = structured_attention(hidden, inner, outer, Mask.padding([4, 2, 0]))
        return out.context, frobenius_penalty(out.weights())

    check_gradients(read, torch.randn(3, 4, 3), torch.randn(2, 3), torch.randn(5, 2))


def test_bias() -> None:
    hidden, inner, outer, bias = torch.randn(2, 7, 5), torch.randn(3, 5), torch.randn(4, 3), torch.randn(3)
    longer = torch.cat((hidden, torch.ones(2, 7, 1)), dim=2)  # a column of ones, whose weights are the bias
    out = structured_attention(hidden, inner, outer, Mask.padding([7, 2]), bias=bias)
    same = structured_attention(longer, torch.cat((inner, bias[:, None]), dim=1), outer, Mask.padding([7, 2]))
    assert_close(out.weights(), same.weights().double(), tolerance=1e-5)
    assert_close(out.context, same.context[:, :, :5].double(), tolerance=1e-5)
    with pytest.raises(ValueError, match=r"bias must be \[A\].*got \[5\]"):
        structured_attention(hidden, inner, outer, bias=torch.randn(5))
    module = StructuredSelfAttention(5, 3, 1, bias=True)
    read = module(hidden)
    straight = structured_attention(
        hidden, module.inner_map.weight, module.outer_map.weight, bias=module.inner_map.bias
    )
    assert_close(read.context, straight.context.double(), tolerance=1e-6)


def test_it_is_additive_attention_with_a_head_a_hop_and_no_query() -> None:
    hidden, inner, outer = torch.randn(2, 7, 5), torch.randn(3, 5), torch.randn(4, 3)
    mask = Mask.padding([7, 2])
    keys = (hidden @ inner.T).unsqueeze(1).expand(2, 4, 7, 3)
    values = hidden.unsqueeze(1).expand(2, 4, 7, 5)
    additive = additive_attention(torch.zeros(2, 4, 1, 3), keys, values, outer, mask)
    out = structured_attention(hidden, inner, outer, mask)
    assert_close(out.context, additive.context.squeeze(2).double(), tolerance=1e-5)


def test_the_penalty_by_hand() -> None:
    """Rows (1, 0) and (1/2, 1/2): A Aᵀ = [[1, 1/2], [1/2, 1/2]], so P = 1/4 + 1/4 + 1/4."""
    assert_close(frobenius_penalty(torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])), [0.75])


def test_the_penalty_is_zero_for_one_hot_rows_on_different_tokens_only() -> None:
    apart = torch.eye(5)[torch.tensor([4, 0, 2])].unsqueeze(0)
    assert frobenius_penalty(apart).item() == 0
    together = torch.eye(5)[torch.tensor([4, 0, 4])].unsqueeze(0)
    assert_close(frobenius_penalty(together), [2.0])
    softened = 0.9 * apart + 0.1 * torch.eye(5)[torch.tensor([1, 0, 2])].unsqueeze(0)
    assert frobenius_penalty(softened).item() > 0.03  # the rows still do not overlap, but one is not sharp


def test_more_hops_than_tokens_cannot_all_be_apart() -> None:
    """A Aᵀ has rank S at most, so r - S eigenvalues of A Aᵀ - I are -1."""
    weights = (3 * torch.randn(100, 7, 4)).softmax(-1)
    assert (frobenius_penalty(weights) >= 7 - 4).all()


def test_module_computes_the_equation() -> None:
    module = StructuredSelfAttention(input_dim=5, hidden_dim=3, num_hops=4)
    hidden = torch.randn(2, 7, 5)
    w1, w2 = module.inner_map.weight, module.outer_map.weight
    weights = (w2 @ torch.tanh(w1 @ hidden.mT)).softmax(-1)
    out = module(hidden)
    assert_close(out.weights(), weights.double(), tolerance=1e-5)
    assert_close(out.context, (weights @ hidden).double(), tolerance=1e-5)
    assert sum(parameter.numel() for parameter in module.parameters()) == 3 * 5 + 4 * 3


def test_module_drops_weights_in_training_only_and_is_watched() -> None:
    module = StructuredSelfAttention(input_dim=5, hidden_dim=3, num_hops=4, dropout=0.5)
    seen: list[Attended] = []
    handle = module.watch(seen.append)
    hidden = torch.randn(2, 7, 5)
    dropped, kept = module(hidden), module.eval()(hidden)
    handle.remove()
    assert_close(dropped.weights(), kept.weights().double())
    assert not torch.allclose(dropped.context, kept.context)
    assert seen == [dropped, kept]


def test_bad_shapes_are_named() -> None:
    hidden, inner, outer = torch.randn(2, 7, 5), torch.randn(3, 5), torch.randn(4, 3)
    with pytest.raises(ValueError, match=r"hidden must be \[B, S, C\]; got shape \[7, 5\]"):
        structured_attention(hidden[0], inner, outer)
    with pytest.raises(ValueError, match=r"the C of hidden \[2, 7, 5\]; got \[5, 3\]"):
        structured_attention(hidden, inner.T, outer)
    with pytest.raises(ValueError, match=r"the A of inner \[3, 5\]; got \[3, 4\]"):
        structured_attention(hidden, inner, outer.T)
    with pytest.raises(ValueError, match=r"weights \[B, r, S\]; got shape \[4, 7\]"):
        frobenius_penalty(torch.randn(4, 7))
