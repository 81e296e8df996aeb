"""The location term."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from regard import Mask
from regard.nn import Additive, Attention, LocationFeatures
from regard.ops import location_features, markov_features
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert location_features(torch.rand(2, 3, 5, 7), torch.randn(11, 3)).shape == (2, 3, 5, 7, 11)
    assert location_features(torch.rand(2, 3, 1, 7), torch.randn(11, 31)).shape == (2, 3, 1, 7, 11)
    assert location_features(torch.rand(2, 3, 1, 0), torch.randn(11, 3)).shape == (2, 3, 1, 0, 11)


def test_value_by_hand() -> None:
    """Filter (1, 10, 100) at the first key: 10 · 0.5 + 100 · 0.3, and so on."""
    weights, filters = torch.tensor([[[[0.5, 0.3, 0.2]]]]), torch.tensor([[1.0, 10.0, 100.0]])
    assert_close(location_features(weights, filters)[0, 0, 0, :, 0], [35.0, 23.5, 2.3])


def test_it_correlates_as_conv1d_does() -> None:
    weights, filters = torch.rand(2, 3, 5, 7), torch.randn(4, 5)
    expected = F.conv1d(weights.view(-1, 1, 7), filters.unsqueeze(1), padding=2)
    assert_close(location_features(weights, filters), expected.mT.reshape(2, 3, 5, 7, 4).double(), tolerance=1e-5)


def test_mask() -> None:
    attention = Attention(Additive(3, 5, 7, terms=[LocationFeatures(2, reach=3)], bias=True))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    out = attention(query, key, mask=Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], key[:1, :4]).context.double())
    ((past,),) = out.state.score
    assert (past[0, ..., 4:] == 0).all()
    assert (past[1] == 0).all()


def test_gradients() -> None:
    check_gradients(location_features, torch.rand(2, 2, 1, 4), torch.randn(3, 5))


def test_unit_filters_give_the_markov_term() -> None:
    weights = torch.rand(2, 3, 1, 7)
    assert torch.equal(location_features(weights, torch.eye(5)), markov_features(weights, reach=2))


def test_it_moves_with_the_alignment() -> None:
    """A filter knows no places: what moves by one key moves its features by one, away from the ends."""
    weights = torch.zeros(1, 1, 1, 11)
    weights[..., 4:6] = torch.tensor([0.3, 0.7])
    filters = torch.randn(3, 5)
    here, there = location_features(weights, filters), location_features(weights.roll(1, -1), filters)
    assert_close(there[..., 1:, :], here[..., :-1, :].double())


@pytest.mark.parametrize("cumulative", [False, True])
def test_module_runs_the_op(cumulative: bool) -> None:
    term = LocationFeatures(2, reach=3, cumulative=cumulative)
    attention = Attention(Additive(3, 5, 7, terms=[term]))
    memory = attention.remember(torch.randn(2, 6, 5))
    out = attention.read(torch.randn(2, 3, 3), memory)
    looked_at = out.coverage() if cumulative else out.weights()[:, -1]
    expected = location_features(looked_at[:, None, None], term.filters)
    assert_close(term(memory, out.state.score[0], step=3, queries=1), expected.double())
    assert (term(memory, term.start(memory), step=0, queries=1) == 0).all()


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"filters must be \[F, 2k \+ 1\], of odd length; got shape \[11, 4\]"):
        location_features(torch.rand(2, 3, 1, 7), torch.randn(11, 4))
    with pytest.raises(ValueError, match=r"location_term: weights must be \[B, H, T, S\]; got shape \[2, 7\]"):
        location_features(torch.rand(2, 7), torch.randn(11, 3))
