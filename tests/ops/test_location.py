"""Location attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Attention, Location, MultiHead
from regard.ops import location_attention, location_score
from tests.mechanism import assert_close, check_gradients


@pytest.mark.parametrize("keys", [5, 7, 11])
def test_shapes(keys: int) -> None:
    out = location_attention(torch.randn(2, 3, 13, 17), torch.randn(2, 3, keys, 19), torch.randn(3, 7, 17))
    assert out.context.shape == (2, 3, 13, 19)
    assert out.weights().shape == (2, 3, 13, keys)


def test_value_by_hand() -> None:
    """W q = (0, log 3, 5), of which a source of two words uses the first two: weights 1/4 and 3/4."""
    query, value = torch.tensor([[[[1.0]]]]), torch.tensor([[[[2.0], [6.0]]]])
    out = location_attention(query, value, torch.tensor([[[0.0], [math.log(3)], [5.0]]]))
    assert_close(out.weights(), [[[[0.25, 0.75]]]])
    assert_close(out.context, [[[[5.0]]]])


def test_mask() -> None:
    query, value, weight = torch.randn(3, 1, 5, 7), torch.randn(3, 1, 11, 2), torch.randn(1, 6, 7)
    out = location_attention(query, value, weight, Mask.padding([4, 0, 11]))
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[[0, 2]].sum(-1), torch.ones(2, 1, 5))
    assert (out.context[1] == 0).all()
    shorter = location_attention(query[:1], value[:1, :, :4], weight)
    assert_close(out.context[:1], shorter.context.double())


def test_words_past_the_end_are_ignored() -> None:
    query, value, weight = torch.randn(1, 2, 3, 5), torch.randn(1, 2, 9, 2), torch.randn(2, 4, 5)
    out = location_attention(query, value, weight)
    assert (out.weights()[..., 4:] == 0).all()
    assert_close(out.context, location_attention(query, value[:, :, :4], weight).context.double())
    late = Mask.of(torch.arange(9) >= 4)
    assert (location_attention(query, value, weight, late).context == 0).all()


def test_gradients() -> None:
    mask = Mask.padding([3, 5])

    def read(*inputs):  # type: ignore[no-untyped-def]
        out = location_attention(*inputs, mask)
        return out.context, out.weights()

    check_gradients(read, torch.randn(2, 2, 3, 2), torch.randn(2, 2, 5, 2), torch.randn(2, 4, 2))


def test_keys_are_ignored() -> None:
    """The property of this score: only places count."""
    attention = Attention(Location(query_dim=3, max_length=13))
    query, value = torch.randn(2, 5, 3), torch.randn(2, 11, 7)
    one, other = attention(query, torch.randn(2, 11, 4), value), attention(query, torch.randn(2, 11, 9), value)
    assert torch.equal(one.context, other.context)
    moved = attention(query, value, value.roll(1, dims=1))
    assert torch.equal(moved.weights(), one.weights())


def test_module_computes_the_equation() -> None:
    attention = Attention(Location(query_dim=3, max_length=13))
    query, key = torch.randn(2, 5, 3), torch.randn(2, 11, 7)
    expected = (query @ attention.score.weight[0].T)[..., :11].softmax(-1) @ key
    assert_close(attention(query, key).context, expected.double(), tolerance=1e-5)


def test_heads_look_at_their_own_places() -> None:
    score = Location(query_dim=3, max_length=13, num_heads=2)
    query, key = torch.randn(2, 5, 3), torch.randn(2, 11, 7)
    expected = torch.einsum("btc,hlc->bhtl", query, score.weight)[..., :11].softmax(-1)
    assert_close(MultiHead(score, value_dim=7)(query, key).weights(), expected.double(), tolerance=1e-5)


def test_step_by_step_equals_all_at_once() -> None:
    attention = Attention(Location(query_dim=3, max_length=5))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 7, 5), Mask.padding([7, 3])
    out, memory, state = attention(query, key, mask=mask), attention.remember(key, mask=mask), None
    for t in range(4):
        step = attention.read(query[:, t : t + 1], memory, state)
        assert_close(step.context, out.context[:, t : t + 1].double(), tolerance=1e-5)
        state = step.state


def test_a_memory_without_contents_grows_and_is_selected() -> None:
    attention = Attention(Location(query_dim=3, max_length=9))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 7, 5)
    memory = attention.remember(key[:, :4]).append(attention.remember(key[:, 4:]))
    assert memory.size == 7
    assert_close(attention.read(query, memory).context, attention(query, key).context.double())
    rows = torch.tensor([1, 1, 0])
    chosen = attention.read(query[rows], memory.select(rows))
    assert_close(chosen.context, attention(query, key).context[rows].double())


def test_bad_shapes_are_named() -> None:
    query, weight = torch.randn(2, 3, 5, 7), torch.randn(3, 11, 7)
    with pytest.raises(ValueError, match=r"location: .* share H and D; got \[2, 3, 5, 7\] and \[3, 11, 6\]"):
        location_score(query, weight[..., :6], 4)
    with pytest.raises(ValueError, match=r"location: .* share B and H; got \[2, 3, 5, 7\] and \[2, 2, 4, 2\]"):
        location_attention(query, torch.randn(2, 2, 4, 2), weight)
