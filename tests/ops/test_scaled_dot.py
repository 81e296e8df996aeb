"""Scaled dot-product attention."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from regard import Mask
from regard.nn import Attention, ScaledDot
from regard.ops import dot_attention, dot_score, scaled_dot_attention, scaled_dot_score
from tests.mechanism import assert_close, check_gradients

IMPLS = ("reference", "sdpa")


@pytest.mark.parametrize("impl", IMPLS)
def test_shapes(impl: str) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    out = scaled_dot_attention(query, key, value, impl=impl)
    assert out.context.shape == (2, 3, 5, 13)
    assert out.weights().shape == (2, 3, 5, 11)
    assert scaled_dot_score(query, key).shape == (2, 3, 5, 11)


@pytest.mark.parametrize("impl", IMPLS)
def test_value_by_hand(impl: str) -> None:
    """The worked example of the notes: 112 and 96 over √64 are 14 and 12, so 1 / (1 + e⁻²) = 0.8808 and 0.1192."""
    query = torch.full((1, 1, 1, 64), 1.0)
    key = torch.tensor([112 / 64, 96 / 64]).view(1, 1, 2, 1).expand(1, 1, 2, 64)
    out = scaled_dot_attention(query, key, torch.tensor([[[[0.0], [1.0]]]]), impl=impl)
    assert_close(dot_score(query, key), [[[[112.0, 96.0]]]])
    assert_close(scaled_dot_score(query, key), [[[[14.0, 12.0]]]])
    assert_close(out.weights(), [[[[1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))]]]])
    assert_close(out.weights(), [[[[0.8808, 0.1192]]]], tolerance=5e-5)
    assert_close(out.context, [[[[0.1192]]]], tolerance=5e-5)


@pytest.mark.parametrize("impl", IMPLS)
def test_mask(impl: str) -> None:
    query, key, value = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5), torch.randn(2, 1, 7, 2)
    out = scaled_dot_attention(query, key, value, Mask.padding([4, 0]), impl=impl)
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(1, 3))
    assert (out.context[1] == 0).all()
    shorter = scaled_dot_attention(query[:1], key[:1, :, :4], value[:1, :, :4], impl=impl)
    assert_close(out.context[:1], shorter.context.double())


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str) -> None:
    mask = Mask.padding([3, 0]) & Mask.causal()

    def read(query, key, value):  # type: ignore[no-untyped-def]
        out = scaled_dot_attention(query, key, value, mask, impl=impl)
        return out.context, out.weights()

    check_gradients(read, torch.randn(2, 2, 2, 3), torch.randn(2, 2, 4, 3), torch.randn(2, 2, 4, 2))


@pytest.mark.parametrize("width", [16, 256])
def test_energies_of_random_vectors_have_variance_one(width: int) -> None:
    """What the scale is for; without it the variance is the width."""
    query, key = torch.randn(1, 1, 512, width), torch.randn(1, 1, 512, width)
    assert scaled_dot_score(query, key).var().item() == pytest.approx(1.0, rel=0.1)
    assert dot_score(query, key).var().item() == pytest.approx(width, rel=0.1)


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 5), (1, 5)])
@pytest.mark.parametrize("impl", IMPLS)
def test_equals_pytorch_with_a_causal_mask(impl: str, queries: int, keys: int, scale: float | None) -> None:
    """PyTorch's own `is_causal` counts from the start; the mask that counts from the end must be written out."""
    query, key, value = (torch.randn(2, 3, length, 7).double() for length in (queries, keys, keys))
    allowed = torch.ones(queries, keys).bool().tril(keys - queries)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, scale=scale)
    assert_close(scaled_dot_attention(query, key, value, Mask.causal(), scale=scale, impl=impl).context, expected)
    assert_close(scaled_dot_attention(query, key, value, Mask.of(allowed), scale=scale, impl=impl).context, expected)


@pytest.mark.parametrize("impl", IMPLS)
def test_equals_pytorch_but_for_rows_with_nothing_to_attend_to(impl: str) -> None:
    query, key, value = (torch.randn(2, 3, length, 7).double() for length in (5, 11, 11))
    allowed = torch.rand(2, 3, 5, 11) < 0.5
    allowed[..., 0] = True
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
    out = scaled_dot_attention(query, key, value, Mask.of(allowed), impl=impl)
    assert_close(out.context, expected)
    assert_close(out.weights() @ value, expected)
    allowed[1, 2, 3] = False
    emptied = scaled_dot_attention(query, key, value, Mask.of(allowed), impl=impl)
    assert (emptied.context[1, 2, 3] == 0).all()
    assert (emptied.weights()[1, 2, 3] == 0).all()
    assert_close(emptied.context[0], expected[0])


@pytest.mark.parametrize("impl", IMPLS)
def test_a_row_with_nothing_to_attend_to_sends_no_gradient(impl: str) -> None:
    query, key, value = (torch.randn(1, 1, length, 3, requires_grad=True) for length in (3, 2, 2))
    out = scaled_dot_attention(query, key, value, Mask.causal(), impl=impl)
    grads = torch.autograd.grad(out.context[:, :, 0].sum() + out.weights()[:, :, 0].sum(), (query, key, value))
    assert all((grad == 0).all() for grad in grads)


@pytest.mark.parametrize("impl", IMPLS)
def test_scale_one_is_dot(impl: str) -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    plain = dot_attention(query, key, key, impl=impl)
    assert_close(scaled_dot_attention(query, key, key, scale=1.0, impl=impl).context, plain.context.double())


@pytest.mark.parametrize("impl", IMPLS)
def test_dropout_drops_weights_on_their_way_to_the_context(impl: str) -> None:
    """One key with the value 1: half the contexts are 0, the others 2; the weights are shown as they are."""
    query, key = torch.randn(1, 1, 400, 8), torch.randn(1, 1, 1, 8)
    out = scaled_dot_attention(query, key, torch.ones(1, 1, 1, 8), dropout=0.5, impl=impl)
    assert set(out.context.unique().tolist()) == {0.0, 2.0}
    assert 120 < int((out.context[..., 0] == 0).sum()) < 280
    assert (out.weights() == 1).all()


def test_module_computes_the_equation() -> None:
    """The divisor is the root of one head's width, 7, whatever the widths of query and key and their lengths."""
    score = ScaledDot(query_dim=3, key_dim=5, hidden_dim=7)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    assert score.query_map is not None
    assert score.key_map is not None
    energy = (query @ score.query_map.weight.T) @ (key @ score.key_map.weight.T).mT / math.sqrt(7)
    out = Attention(score)(query, key)
    assert_close(out.weights(), energy.softmax(-1).double(), tolerance=1e-5)
    assert_close(out.context, (energy.softmax(-1) @ key).double(), tolerance=1e-5)


def test_step_by_step_is_all_at_once() -> None:
    attention = Attention(ScaledDot(query_dim=3, key_dim=5, hidden_dim=7))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 11, 5), Mask.padding([11, 6])
    memory = attention.remember(key, mask=mask)
    steps = [attention.read(row, memory).context for row in query.split(1, dim=1)]
    assert_close(torch.cat(steps, dim=1), attention(query, key, mask=mask).context.double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    with pytest.raises(ValueError, match=r"scaled_dot: .* share B, H and D; got \[2, 3, 5, 7\] and \[2, 1, 11, 7\]"):
        scaled_dot_attention(query, key[:, :1], key)
    with pytest.raises(ValueError, match="scaled_dot: no implementation 'flash'; there are reference, sdpa"):
        scaled_dot_attention(query, key, key, impl="flash")
