"""Kendall's tau and its significance, overlap, divergence of distributions."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.explain.agreement import divergence, kendall, overlap, variation


def every(scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool)


def test_ties_as_scipy_has_them() -> None:
    """scipy 1.17: kendalltau([1, 2, 2, 3, 5, 5, 5], [2, 1, 4, 4, 3, 6, 6]), asymptotic because of the ties."""
    first, second = torch.tensor([[1.0, 2, 2, 3, 5, 5, 5]]), torch.tensor([[2.0, 1, 4, 4, 3, 6, 6]])
    found = kendall(first, second, every(first))
    assert found.tau.item() == pytest.approx(0.5564148840746572)
    assert found.p.item() == pytest.approx(0.10497502278228385)


def test_a_small_significance_by_hand() -> None:
    """Of 24 orders of four words one agrees in all pairs and one in none: p = 2 / 24."""
    scores = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    for sign in (1, -1):
        found = kendall(scores, sign * scores, every(scores))
        assert found.tau.item() == sign
        assert found.p.item() == pytest.approx(1 / 12)


def test_padding_and_other_texts_change_nothing() -> None:
    first, second = torch.rand(3, 11), torch.rand(3, 11)
    inside = torch.arange(11) < torch.tensor([[11], [5], [2]])
    together = kendall(first, second, inside)
    for text, length in enumerate((11, 5, 2)):
        scores = first[text : text + 1, :length], second[text : text + 1, :length]
        alone = kendall(*scores, every(scores[0]))
        torch.testing.assert_close(together.tau[text], alone.tau[0])
        torch.testing.assert_close(together.p[text], alone.p[0])


def test_a_constant_score_ranks_nothing() -> None:
    scores = torch.rand(1, 5)
    found = kendall(torch.ones(1, 5), scores, every(scores))
    assert found.tau.isnan().all()
    assert found.p.isnan().all()


def test_many_words_have_the_significance_of_a_normal_distribution() -> None:
    """Independent rankings of 50 words: p is even between 0 and 1."""
    first, second = torch.rand(400, 50), torch.rand(400, 50)
    p = kendall(first, second, every(first)).p
    assert 0.02 < (p < 0.05).float().mean() < 0.09
    assert 0.4 < p.mean() < 0.6


def test_overlap_counts_the_largest_words_inside() -> None:
    first = torch.tensor([[5.0, 4.0, 3.0, 2.0, 1.0, 99.0]])
    second = torch.tensor([[5.0, 1.0, 2.0, 4.0, 3.0, -9.0]])
    inside = torch.tensor([[True] * 5 + [False]])
    assert overlap(first, second, inside, share=0.4).item() == 0.5
    assert overlap(first, first, inside, share=0.01).item() == 1.0  # at least one word


def test_distances_of_distributions() -> None:
    first, second = torch.rand(7, 5).softmax(-1), torch.rand(7, 5).softmax(-1)
    torch.testing.assert_close(divergence(first, second), divergence(second, first))
    assert (divergence(first, first).abs() < 1e-6).all()
    assert (divergence(first, second) <= math.log(2)).all()
    assert (variation(first, second) <= 1).all()
