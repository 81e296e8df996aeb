"""The local fertility term."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Additive, Attention, Fertility
from regard.ops import fertility_features, markov_features
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert fertility_features(torch.rand(2, 3, 5, 7)).shape == (2, 3, 1, 7, 3)
    assert fertility_features(torch.rand(2, 3, 5, 7), reach=2).shape == (2, 3, 1, 7, 5)
    assert fertility_features(torch.rand(2, 3, 5, 0)).shape == (2, 3, 1, 0, 3)


def test_value_by_hand() -> None:
    """Two queries so far: sums 1.1, 0.7, 0.2."""
    weights = torch.tensor([[[[0.5, 0.3, 0.2], [0.6, 0.4, 0.0]]]])
    assert_close(fertility_features(weights)[0, 0, 0], [[0.0, 1.1, 0.7], [1.1, 0.7, 0.2], [0.7, 0.2, 0.0]])


def test_before_the_first_query_nothing_was_attended_to() -> None:
    features = fertility_features(torch.rand(2, 3, 0, 7))
    assert features.shape == (2, 3, 1, 7, 3)
    assert (features == 0).all()


def test_mask() -> None:
    attention = Attention(Additive(3, 5, 7, terms=[Fertility()]))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    out = attention(query, key, mask=Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], key[:1, :4]).context.double())
    ((past,),) = out.state.score
    assert (past[0, ..., 4:] == 0).all()
    assert (past[1] == 0).all()


def test_gradients() -> None:
    check_gradients(lambda weights: fertility_features(weights, reach=1), torch.rand(2, 2, 3, 4))


def test_a_running_sum_does_as_well_as_all_rows() -> None:
    weights = torch.rand(2, 3, 5, 7)
    total = weights.sum(2, keepdim=True)
    assert_close(fertility_features(weights), fertility_features(total).double())
    assert_close(fertility_features(weights), markov_features(weights).sum(2, keepdim=True).double())


def test_the_middle_feature_counts_the_queries() -> None:
    """Every query gives away a weight of one, so the fertilities of a sentence sum to the queries so far."""
    features = fertility_features(torch.rand(2, 3, 5, 7).softmax(-1))
    assert_close(features[..., 1].sum(-1), torch.full((2, 3, 1), 5.0))


def test_it_can_spread() -> None:
    """A score that shuns what has been attended to visits every key once."""
    score = Additive(1, 1, 1, terms=[Fertility(reach=0)])
    assert score.query_map is not None
    assert score.key_map is not None
    assert score.term_weight is not None
    with torch.no_grad():
        score.weight.fill_(60.0)
        score.term_weight.fill_(-1.0)
        score.query_map.weight.zero_()
        score.key_map.weight.fill_(1.0)
    key = torch.tensor([0.1, 0.4, 0.0, 0.3, 0.2]).view(1, 5, 1)  # and prefers larger contents
    out = Attention(score)(torch.zeros(1, 5, 1), key)
    assert out.alignment().tolist() == [[1, 3, 4, 0, 2]]


def test_module_remembers_the_coverage() -> None:
    term = Fertility(reach=2)
    attention = Attention(Additive(3, 5, 7, terms=[term]))
    memory = attention.remember(torch.randn(2, 6, 5))
    out = attention.read(torch.randn(2, 3, 3), memory)
    ((past,),) = out.state.score
    assert_close(past[:, 0, 0], out.coverage().double())
    features: Tensor = term(memory, (past,), step=3, queries=1)
    assert_close(features, fertility_features(out.weights().unsqueeze(1), reach=2).double())


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"fertility_term: weights must be \[B, H, T, S\]; got shape \[2, 5, 7\]"):
        fertility_features(torch.rand(2, 5, 7))
