"""Concat attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Attention, Concat, MultiHead
from regard.ops import additive_attention, concat_attention, concat_score
from tests.mechanism import assert_close, check_gradients

IMPLS = ("reference", "blocked")


@pytest.mark.parametrize("impl", [*IMPLS, None])
def test_shapes(impl: str | None) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 13), torch.randn(2, 3, 11, 17)
    out = concat_attention(query, key, value, torch.randn(3, 19, 20), torch.randn(3, 19), impl=impl)
    assert out.context.shape == (2, 3, 5, 17)
    assert out.weights().shape == (2, 3, 5, 11)


@pytest.mark.parametrize("impl", IMPLS)
def test_value_by_hand(impl: str) -> None:
    """W = (2, -1): the hidden unit is 2q - k, that is 2 for the first key and 0 for the second; v = 3."""
    query, key = torch.tensor([[[[1.0]]]]), torch.tensor([[[[0.0], [2.0]]]])
    first = 1 / (1 + math.exp(-3 * math.tanh(2)))
    out = concat_attention(query, key, key, torch.tensor([[[2.0, -1.0]]]), torch.tensor([[3.0]]), impl=impl)
    assert_close(out.weights(), [[[[first, 1 - first]]]])
    assert_close(out.context, [[[[2 * (1 - first)]]]])


@pytest.mark.parametrize("impl", IMPLS)
def test_mask(impl: str) -> None:
    query, key, value = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 4), torch.randn(2, 1, 7, 2)
    weight, v = torch.randn(1, 6, 9), torch.randn(1, 6)
    out = concat_attention(query, key, value, weight, v, Mask.padding([4, 0]), impl=impl)
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(1, 3))
    assert (out.context[1] == 0).all()
    shorter = concat_attention(query[:1], key[:1, :, :4], value[:1, :, :4], weight, v, impl=impl)
    assert_close(out.context[:1], shorter.context.double())


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str) -> None:
    mask = Mask.padding([3, 4]) & Mask.causal()

    def read(*inputs):  # type: ignore[no-untyped-def]
        out = concat_attention(*inputs, mask, impl=impl)
        return out.context, out.weights()

    shapes = ((2, 2, 2, 3), (2, 2, 4, 2), (2, 2, 4, 2), (2, 3, 5), (2, 3))
    check_gradients(read, *(torch.randn(shape) for shape in shapes))


@pytest.mark.parametrize("impl", IMPLS)
def test_is_additive_attention_of_the_two_halves_of_the_matrix(impl: str) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 13), torch.randn(2, 3, 11, 2)
    weight, v = torch.randn(3, 4, 20), torch.randn(3, 4)
    mine = concat_attention(query, key, value, weight, v, impl=impl)
    twin = additive_attention(query @ weight[..., :7].mT, key @ weight[..., 7:].mT, value, v, impl="reference")
    assert_close(mine.weights(), twin.weights().double(), tolerance=1e-5)
    assert_close(mine.context, twin.context.double(), tolerance=1e-5)


def test_energies_alone_are_the_same_by_all_ways() -> None:
    query, key = torch.randn(2, 2, 31, 5).double(), torch.randn(2, 2, 37, 3).double()
    weight, v = torch.randn(2, 7, 8).double(), torch.randn(2, 7).double()
    expected = concat_score(query, key, weight, v, impl="reference")
    assert_close(concat_score(query, key, weight, v, impl="blocked"), expected)
    assert_close(concat_score(query, key, weight, v), expected)


def test_module_computes_the_equation() -> None:
    score = Concat(query_dim=3, key_dim=5, hidden_dim=7)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    pairs = torch.cat((query[:, :, None].expand(2, 11, 13, 3), key[:, None].expand(2, 11, 13, 5)), dim=-1)
    expected = (torch.tanh(pairs @ score.weight[0].T) @ score.v[0]).softmax(-1) @ key
    assert_close(Attention(score)(query, key).context, expected.double(), tolerance=1e-5)


def test_module_with_an_identity_for_the_key() -> None:
    score = Concat(query_dim=3, key_dim=5, identity_key=True)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    hidden = torch.tanh((query @ score.weight[0].T).unsqueeze(2) + key.unsqueeze(1))
    expected = (hidden @ score.v[0]).softmax(-1) @ key
    assert_close(Attention(score)(query, key).context, expected.double(), tolerance=1e-5)


def test_heads_have_their_own_matrices() -> None:
    score = Concat(query_dim=3, key_dim=5, hidden_dim=7, num_heads=2)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    out = MultiHead(score, value_dim=5)(query, key)
    for head in range(2):
        single = Concat(query_dim=3, key_dim=5, hidden_dim=7)
        single.load_state_dict({name: tensor[head : head + 1] for name, tensor in score.state_dict().items()})
        alone = Attention(single)(query, key)
        assert_close(out.weights()[:, head], alone.weights().double(), tolerance=1e-5)


@pytest.mark.parametrize("identity_key", [False, True])
def test_step_by_step_equals_all_at_once(identity_key: bool) -> None:
    attention = Attention(Concat(query_dim=3, key_dim=5, identity_key=identity_key))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 7, 5), Mask.padding([7, 3])
    out, memory, state = attention(query, key, mask=mask), attention.remember(key, mask=mask), None
    for t in range(4):
        step = attention.read(query[:, t : t + 1], memory, state)
        assert_close(step.context, out.context[:, t : t + 1].double(), tolerance=1e-5)
        state = step.state


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 13)
    weight, v = torch.randn(3, 4, 20), torch.randn(3, 4)
    with pytest.raises(ValueError, match=r"concat: weight must be .* = \[3, A, 20\].*got \[3, 4, 19\]"):
        concat_attention(query, key, key, weight[..., 1:], v)
    with pytest.raises(ValueError, match=r"concat: v must be \[H, A\] = \[3, 4\]; got \[3, 5\]"):
        concat_attention(query, key, key, weight, torch.randn(3, 5))
    with pytest.raises(ValueError, match=r"share B and H; got \[2, 3, 5, 7\] and \[1, 3, 11, 13\]"):
        concat_attention(query, key[:1], key, weight, v)
    with pytest.raises(ValueError, match=r"share B, H and S; got \[2, 3, 11, 13\] and \[2, 3, 10, 13\]"):
        concat_attention(query, key, key[:, :, 1:], weight, v)
    with pytest.raises(ValueError, match="concat: no implementation 'sdpa'; there are reference, projected"):
        concat_attention(query, key, key, weight, v, impl="sdpa")
    with pytest.raises(ValueError, match="impl='blocked' has no dropout"):
        concat_attention(query, key, key, weight, v, impl="blocked", dropout=0.5)
    with pytest.raises(ValueError, match="hidden_dim must be 5 too; got 7"):
        Concat(3, 5, 7, identity_key=True)
