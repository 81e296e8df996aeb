"""The Markov term."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Additive, Attention, Markov
from regard.ops import markov_features
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert markov_features(torch.rand(2, 3, 5, 7)).shape == (2, 3, 5, 7, 3)
    assert markov_features(torch.rand(2, 3, 1, 7), reach=2).shape == (2, 3, 1, 7, 5)
    assert markov_features(torch.rand(2, 3, 1, 7), reach=0).shape == (2, 3, 1, 7, 1)
    assert markov_features(torch.rand(2, 3, 1, 2), reach=5).shape == (2, 3, 1, 2, 11)
    assert markov_features(torch.rand(2, 3, 1, 0)).shape == (2, 3, 1, 0, 3)


def test_value_by_hand() -> None:
    weights = torch.tensor([[[[0.5, 0.3, 0.2]]]])
    assert_close(markov_features(weights)[0, 0, 0], [[0.0, 0.5, 0.3], [0.5, 0.3, 0.2], [0.3, 0.2, 0.0]])
    assert_close(markov_features(weights, reach=2)[0, 0, 0, 0], [0.0, 0.0, 0.5, 0.3, 0.2])


def test_mask() -> None:
    """Beyond the end of a short sentence lies padding of weight 0: the same as nothing."""
    attention = Attention(Additive(3, 5, 7, terms=[Markov()]))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    out = attention(query, key, mask=Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], key[:1, :4]).context.double())
    ((past,),) = out.state.score
    assert torch.equal(past, out.weights(rows=-1).unsqueeze(1))
    assert (past[0, ..., 4:] == 0).all()
    assert (past[1] == 0).all()


def test_gradients() -> None:
    check_gradients(lambda weights: markov_features(weights, reach=2), torch.rand(2, 2, 1, 3))


def test_mass_is_kept_up_to_what_leaves_at_the_ends() -> None:
    """Feature d of all keys is the row moved by d: the middle one is the row, the outer ones lose an end each."""
    weights = torch.rand(2, 3, 1, 7).softmax(-1)
    left, middle, right = markov_features(weights).unbind(-1)
    assert torch.equal(middle, weights)
    assert_close(left.sum(-1), (1 - weights[..., -1]).double())
    assert_close(right.sum(-1), (1 - weights[..., 0]).double())


def test_it_can_walk() -> None:
    """A score that weighs only the left neighbour's last weight goes one key to the right at every step."""
    score = Additive(1, 1, 1, terms=[Markov()])
    assert score.query_map is not None
    assert score.key_map is not None
    assert score.term_weight is not None
    with torch.no_grad():
        score.weight.fill_(40.0)
        score.term_weight.copy_(torch.tensor([[[2.0, 0.0, 0.0]]]))
        score.query_map.weight.zero_()
        score.key_map.weight.fill_(1.0)
    key = torch.zeros(1, 5, 1)
    key[0, 0] = 0.2  # content matters a little: where to begin
    out = Attention(score)(torch.zeros(1, 5, 1), key)
    assert out.alignment().tolist() == [[0, 1, 2, 3, 4]]


def test_module_equals_the_op_on_the_weights_before() -> None:
    term = Markov(reach=2)
    attention = Attention(Additive(3, 5, 7, terms=[term]))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    memory = attention.remember(key)
    first = attention.read(query[:, :3], memory)
    features: Tensor = term(memory, first.state.score[0], step=3, queries=1)
    assert torch.equal(features, markov_features(first.weights(rows=2).unsqueeze(1), reach=2))
    assert (term(memory, term.start(memory), step=0, queries=1) == 0).all()


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"markov_term: weights must be \[B, H, T, S\]; got shape \[2, 7\]"):
        markov_features(torch.rand(2, 7))
    with pytest.raises(ValueError, match="0 or more; got -1"):
        markov_features(torch.rand(2, 1, 1, 7), reach=-1)
