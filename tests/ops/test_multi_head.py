"""Several heads: splitting and joining. What the module makes of them is in tests/nn/test_multi_head.py."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard import Mask
from regard.nn import Attention, Dot, MultiHead, ScaledDot
from regard.ops import merge_heads, scaled_dot_attention, split_heads
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    heads = split_heads(torch.randn(2, 5, 21), 3)
    assert heads.shape == (2, 3, 5, 7)
    assert merge_heads(heads).shape == (2, 5, 21)
    attention = MultiHead(ScaledDot(5, 7, hidden_dim=11, num_heads=3), value_dim=13, head_dim=17, output_dim=19)
    out = attention(torch.randn(2, 23, 5), torch.randn(2, 29, 7), torch.randn(2, 29, 13))
    assert out.context.shape == (2, 23, 19)
    assert out.weights().shape == (2, 3, 23, 29)
    assert out.weights(heads=[2], rows=slice(0, 4)).shape == (2, 1, 4, 29)


def test_value_by_hand() -> None:
    """Channels 0, 1 are the first head's, 2, 3 the second's; each head compares and reads its own pair."""
    heads = split_heads(torch.arange(4.0).view(1, 1, 4), 2)
    assert heads.tolist() == [[[[0.0, 1.0]], [[2.0, 3.0]]]]
    query = split_heads(torch.tensor([[[9.0, 0.0, 0.0, 9.0]]]), 2)
    key = split_heads(torch.tensor([[[9.0, 0.0, 9.0, 0.0], [0.0, 9.0, 0.0, 9.0]]]), 2)
    value = split_heads(torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]), 2)
    context = merge_heads(scaled_dot_attention(query, key, value).context)
    assert_close(context, [[[1.0, 2.0, 7.0, 8.0]]])


def test_mask() -> None:
    attention = MultiHead(ScaledDot(5, 5, hidden_dim=3, num_heads=2), value_dim=5, head_dim=3, output_dim=5)
    query, key = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    out = attention(query, key, mask=Mask.padding([4, 0]))
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(2, 3))
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], key[:1, :4]).context.double(), tolerance=1e-5)


def test_a_mask_may_differ_by_head() -> None:
    """The first head looks back, the second ahead."""
    attention = MultiHead(Dot(num_heads=2), value_dim=6)
    causal = torch.ones(4, 4).bool().tril()
    out = attention(torch.randn(1, 4, 6), mask=Mask.of(torch.stack((causal, causal.T))[None]))
    assert (out.weights()[0, 0].triu(1) == 0).all()
    assert (out.weights()[0, 1].tril(-1) == 0).all()


def test_gradients() -> None:
    attention = MultiHead(
        ScaledDot(3, 4, hidden_dim=2, num_heads=2, bias=True), value_dim=5, head_dim=3, output_dim=2, bias=True
    ).double()
    mask = Mask.padding([3, 0]) & Mask.causal()

    def read(query, key, value):  # type: ignore[no-untyped-def]
        out = attention(query, key, value, mask)
        return out.context, out.weights()

    check_gradients(read, torch.randn(2, 2, 3), torch.randn(2, 4, 4), torch.randn(2, 4, 5))


def test_joining_undoes_splitting() -> None:
    channels = torch.randn(2, 5, 12)
    assert torch.equal(merge_heads(split_heads(channels, 3)), channels)
    assert torch.equal(merge_heads(split_heads(channels.mT.contiguous().mT, 3)), channels), "whatever the strides"


def test_the_order_of_the_heads_does_not_count() -> None:
    """Heads reordered everywhere, W^O's columns with them: the same context, the weights in the new order."""
    one, other = (
        MultiHead(ScaledDot(6, 6, hidden_dim=2, num_heads=3), value_dim=6, head_dim=2, output_dim=6) for _ in range(2)
    )
    order = torch.tensor([2, 0, 1])
    channels = torch.tensor([4, 5, 0, 1, 2, 3])
    pairs = [
        (one.score.query_map, other.score.query_map),
        (one.score.key_map, other.score.key_map),
        (one.value_map, other.value_map),
    ]
    with torch.no_grad():
        for mine, theirs in pairs:
            assert isinstance(mine, nn.Linear)
            assert isinstance(theirs, nn.Linear)
            theirs.weight.copy_(mine.weight[channels])
        assert one.output_map is not None
        assert other.output_map is not None
        other.output_map.weight.copy_(one.output_map.weight[:, channels])
    x = torch.randn(2, 5, 6)
    assert_close(other(x).context, one(x).context.double(), tolerance=1e-5)
    assert_close(other(x).weights(), one(x).weights()[:, order].double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match="7 channels cannot be split among 2 heads"):
        split_heads(torch.randn(2, 3, 7), 2)
    with pytest.raises(ValueError, match="Attention has one head, but its score has 2: use MultiHead"):
        Attention(Dot(num_heads=2))
    with pytest.raises(ValueError, match=r"with one B and S; got \[2, 5, 6\] and \[2, 4, 6\]"):
        MultiHead(Dot(num_heads=2), value_dim=6)(torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.randn(2, 4, 6))
