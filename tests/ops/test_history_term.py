"""The recall term."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, History
from regard.ops import history_features, markov_features
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    for keys in (7, 0):
        state = history_features(
            torch.rand(2, 3, 1, keys), torch.zeros(2, 3, keys, 5), torch.randn(15, 3), torch.randn(15, 5)
        )
        assert state.shape == (2, 3, keys, 5)


def test_value_by_hand() -> None:
    """One key of weight 1, state 2, all matrices 1: r = z = σ(3), n = tanh(1 + 2 σ(3)), m' = (1 - z) n + 2 z."""
    gate = 1 / (1 + math.exp(-3))
    state = history_features(torch.ones(1, 1, 1, 1), torch.full((1, 1, 1, 1), 2.0), torch.ones(3, 1), torch.ones(3, 1))
    assert_close(state, [[[[(1 - gate) * math.tanh(1 + 2 * gate) + 2 * gate]]]])


def test_it_is_a_gru_at_every_key() -> None:
    cell = torch.nn.GRUCell(3, 5, bias=False)
    weights, state = torch.rand(2, 3, 1, 7), torch.randn(2, 3, 7, 5)
    expected = cell(markov_features(weights).reshape(-1, 3), state.reshape(-1, 5)).view(2, 3, 7, 5)
    assert_close(history_features(weights, state, cell.weight_ih, cell.weight_hh), expected.double(), tolerance=1e-5)


def test_mask() -> None:
    attention = Attention(Additive(3, 5, 7, terms=[History(2)]))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    out = attention(query, key, mask=Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], key[:1, :4]).context.double())


def test_a_key_that_nobody_looked_near_has_state_zero() -> None:
    """Without biases nothing comes of nothing: padding too far from the sentence, or a sentence of length 0."""
    attention = Attention(Additive(3, 5, 7, terms=[History(2, reach=1)]))
    out = attention(torch.randn(2, 4, 3), torch.randn(2, 6, 5), mask=Mask.padding([3, 0]))
    ((past,),) = out.state.score
    assert past.shape == (2, 1, 6, 2)
    assert (past[0, :, :3] != 0).all()
    assert (past[0, :, 4:] == 0).all()
    assert (past[1] == 0).all()


def test_gradients() -> None:
    def two_steps(first, second, state, input_weight, state_weight):  # type: ignore[no-untyped-def]
        state = history_features(first, state, input_weight, state_weight)
        return history_features(second, state, input_weight, state_weight)

    check_gradients(
        two_steps,
        torch.rand(2, 1, 1, 4),
        torch.rand(2, 1, 1, 4),
        torch.randn(2, 1, 4, 2),
        torch.randn(6, 3),
        torch.randn(6, 2),
    )


def test_the_state_tells_orders_apart() -> None:
    """Attended first and then not, or the other way round: the sum of the weights is the same, the state is not."""
    one, none = torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1)
    weights, start = (torch.randn(6, 1), torch.randn(6, 2)), torch.zeros(1, 1, 1, 2)
    early = history_features(none, history_features(one, start, *weights), *weights)
    late = history_features(one, history_features(none, start, *weights), *weights)
    assert (early - late).abs().amax() > 0.01


def test_module_runs_the_op() -> None:
    term = History(2, reach=2)
    attention = Attention(Additive(3, 5, 7, terms=[term]))
    out = attention(torch.randn(2, 3, 3), torch.randn(2, 6, 5))
    state = torch.zeros(2, 1, 6, 2)
    for j in range(3):
        state = history_features(out.weights(rows=j).unsqueeze(1), state, term.input_weight, term.state_weight)
    ((past,),) = out.state.score
    assert_close(past, state.double())
    assert torch.equal(term.features(past), past.unsqueeze(2))


def test_bad_shapes_are_named() -> None:
    weights, state = torch.rand(2, 3, 1, 7), torch.zeros(2, 3, 7, 5)
    with pytest.raises(ValueError, match=r"those of one query, \[B, H, 1, S\]; got \[2, 3, 4, 7\]"):
        history_features(torch.rand(2, 3, 4, 7), state, torch.rand(15, 3), torch.rand(15, 5))
    with pytest.raises(ValueError, match=r"state must be \[B, H, S, F\].*got \[2, 3, 6, 5\]"):
        history_features(weights, state[:, :, :6], torch.rand(15, 3), torch.rand(15, 5))
    with pytest.raises(ValueError, match=r"input_weight must be \[3F, 2k \+ 1\].*got \[15, 4\]"):
        history_features(weights, state, torch.rand(15, 4), torch.rand(15, 5))
    with pytest.raises(ValueError, match=r"state_weight must be \[3F, F\] = \[15, 5\]; got \[10, 5\]"):
        history_features(weights, state, torch.rand(15, 3), torch.rand(10, 5))
