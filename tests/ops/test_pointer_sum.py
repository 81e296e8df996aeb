"""Pointer sum."""

from __future__ import annotations

import pytest
import torch

from regard.nn import AttentionOverAttention
from regard.ops import pointer_candidates, pointer_sum
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    ids = torch.randint(13, (2, 7))
    assert pointer_sum(torch.rand(2, 7), ids, 13).shape == (2, 13)
    assert pointer_sum(torch.rand(2, 5, 7), ids, 13).shape == (2, 5, 13)
    assert pointer_candidates(torch.rand(2, 7), ids, torch.randint(13, (2, 3))).shape == (2, 3)


def test_value_by_hand() -> None:
    weights, ids = torch.tensor([[0.5, 0.25, 0.125, 0.125]]), torch.tensor([[2, 0, 2, 2]])
    assert_close(pointer_sum(weights, ids, 4), [[0.25, 0.0, 0.75, 0.0]])


def test_mask() -> None:
    """A position without weight says nothing, whatever its word; an empty document is all zero."""
    weights, ids = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]), torch.tensor([[1, 3, 0], [1, 1, 1]])
    other = torch.tensor([[1, 3, 2], [0, 2, 3]])
    assert_close(pointer_sum(weights, ids, 4), [[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    assert_close(pointer_sum(weights, other, 4), pointer_sum(weights, ids, 4).double())
    assert_close(pointer_sum(torch.rand(2, 0), torch.zeros(2, 0, dtype=torch.long), 3), torch.zeros(2, 3))


def test_gradients() -> None:
    ids = torch.tensor([[1, 1, 0, 1], [2, 0, 2, 2]])
    check_gradients(lambda weights: pointer_sum(weights, ids, 3), torch.rand(2, 4))
    check_gradients(lambda weights: pointer_sum(weights, ids, 3), torch.rand(2, 5, 4))
    check_gradients(lambda weights: pointer_candidates(weights, ids, ids[:, :2]), torch.rand(2, 4))


def test_no_probability_is_lost() -> None:
    weights, ids = torch.randn(3, 5, 11).softmax(-1), torch.randint(4, (3, 11))
    assert_close(pointer_sum(weights, ids, 4).sum(-1), torch.ones(3, 5))


def test_candidates_are_entries_of_the_sum() -> None:
    weights, ids, candidates = torch.rand(3, 11), torch.randint(6, (3, 11)), torch.randint(6, (3, 5))
    expected = pointer_sum(weights, ids, 6).gather(1, candidates)
    assert_close(pointer_candidates(weights, ids, candidates), expected.double())
    assert_close(AttentionOverAttention().candidates(weights, ids, candidates), expected.double())


def test_half_precision_is_summed_in_float32() -> None:
    """256 + 1 is 256 in bfloat16: a thousand small weights would stop adding up."""
    weights, ids = torch.full((1, 1000), 1 / 1024).bfloat16(), torch.zeros(1, 1000, dtype=torch.long)
    assert_close(pointer_sum(weights, ids, 1), [[1000 / 1024]])


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"must share B and S; got \[2, 7\] and \[2, 6\]"):
        pointer_sum(torch.rand(2, 7), torch.zeros(2, 6, dtype=torch.long), 3)
    with pytest.raises(ValueError, match=r"must share B; got \[2, 7\] and \[3, 4\]"):
        pointer_candidates(torch.rand(2, 7), torch.zeros(2, 7, dtype=torch.long), torch.zeros(3, 4, dtype=torch.long))
