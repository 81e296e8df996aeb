"""Learned positions."""

from __future__ import annotations

import pytest
import torch

from regard.nn import Attention, Dot, LearnedPositions
from regard.ops import learned_positions
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert learned_positions(torch.randn(11, 7), 5).shape == (5, 7)
    assert learned_positions(torch.randn(11, 7), 0, 11).shape == (0, 7)
    assert LearnedPositions(max_length=11, dim=7)(torch.randn(2, 5, 7)).shape == (2, 5, 7)


def test_value_by_hand() -> None:
    places = LearnedPositions(max_length=3, dim=2)
    with torch.no_grad():
        places.table.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert_close(places(torch.full((1, 2, 2), 10.0)), [[[11.0, 12.0], [13.0, 14.0]]])
    assert_close(places(torch.full((1, 2, 2), 10.0), start=1), [[[13.0, 14.0], [15.0, 16.0]]])


def test_gradients() -> None:
    check_gradients(lambda table: learned_positions(table, 3, 2), torch.randn(7, 4))


def test_only_the_places_that_occur_learn() -> None:
    """Row t of the table gets what reaches place t, summed over the batch; the others get nothing."""
    places = LearnedPositions(max_length=6, dim=3)
    upstream = torch.randn(2, 2, 3)
    (places(torch.randn(2, 2, 3), start=3) * upstream).sum().backward()
    assert places.table.grad is not None
    assert_close(places.table.grad[3:5], upstream.sum(0).double())
    assert (places.table.grad[[0, 1, 2, 5]] == 0).all()


def test_without_places_attention_sees_a_set() -> None:
    """Shuffling keys changes nothing for bare vectors, and something once they know where they stand."""
    attention, places = Attention(Dot()), LearnedPositions(max_length=9, dim=4)
    query, key, order = torch.randn(1, 2, 4).double(), torch.randn(1, 9, 4).double(), torch.randperm(9)
    with torch.no_grad():
        places.double().table.normal_()
    assert_close(attention(query, key[:, order]).context, attention(query, key).context)
    moved = attention(query, places(key[:, order]), key[:, order]).context
    assert (moved - attention(query, places(key), key).context).abs().max() > 0.01


def test_step_by_step_is_all_at_once() -> None:
    places, x = LearnedPositions(max_length=5, dim=6), torch.randn(2, 5, 6)
    steps = [places(word, start=step) for step, word in enumerate(x.split(1, dim=1))]
    assert torch.equal(torch.cat(steps, dim=1), places(x))


def test_half_precision_stays_so() -> None:
    assert LearnedPositions(3, 4)(torch.zeros(1, 2, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_past_the_end_is_an_error_with_both_numbers() -> None:
    places = LearnedPositions(max_length=5, dim=4)
    with pytest.raises(ValueError, match="reaches position 6 does not fit a table for 5; build it with a larger"):
        places(torch.randn(2, 6, 4))
    with pytest.raises(ValueError, match="reaches position 6 does not fit a table for 5"):
        places(torch.randn(2, 1, 4), start=5)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"x must be \[B, T, C\] with C = 4; got shape \[2, 3, 5\]"):
        LearnedPositions(7, 4)(torch.randn(2, 3, 5))
    with pytest.raises(ValueError, match=r"table must be \[L, C\]; got shape \[7\]"):
        learned_positions(torch.randn(7), 3)
    with pytest.raises(ValueError, match="at least 0; got 3 and -1"):
        learned_positions(torch.randn(7, 4), 3, -1)
