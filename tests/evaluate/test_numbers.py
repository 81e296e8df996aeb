"""Metrics of numbers against their definitions."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluate import mae, metric, pearson, pearson_tally, rmse, spearman, spearman_tally
from regard.evaluate.numbers import ranks

some = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=12)


def slow_ranks(values: list[float]) -> list[float]:
    """By definition: the mean of the places that a value could have."""
    return [1 + sum(b < a for b in values) + (sum(b == a for b in values) - 1) / 2 for a in values]


def slow_pearson(x: list[float], y: list[float]) -> float:
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / math.sqrt(spread) if spread else 0.0


@given(some)
def test_correlations_are_those_of_the_definition(pairs: list[tuple[int, int]]) -> None:
    x, y = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    texts = list(map(str, x)), list(map(str, y))
    assert pearson(*texts).value == pytest.approx(slow_pearson(x, y), abs=1e-12)
    assert ranks(np.array(x)).tolist() == slow_ranks(x)
    assert spearman(*texts).value == pytest.approx(slow_pearson(slow_ranks(x), slow_ranks(y)), abs=1e-12)


def test_values_by_hand() -> None:
    x, y = ["1", "2", "3", "4", "5"], ["2", "1", "4", "3", "5"]
    assert spearman(x, y).value == pytest.approx(1 - 6 * 4 / (5 * 24))  # no ties: 1 - 6 Σd² / n(n² - 1)
    assert mae(x, y).value == pytest.approx(4 / 5)
    assert rmse(x, y).value == pytest.approx(math.sqrt(4 / 5))
    assert pearson(x, [f"{-3 * float(one) + 1}" for one in x]).value == pytest.approx(-1)


@pytest.mark.parametrize("constant", ["0.1", "1e9", "-3"])
def test_what_does_not_vary_goes_together_with_nothing(constant: str) -> None:
    x, y = [constant] * 7, [str(value) for value in range(7)]
    assert pearson(x, y).value == pearson(y, x).value == spearman(x, y).value == 0


def test_a_large_mean_loses_no_digits() -> None:
    random.seed(3)
    pairs = [(random.random(), random.random()) for _ in range(50)]
    plain = pearson([f"{a:.6f}" for a, _ in pairs], [f"{b:.6f}" for _, b in pairs]).value
    shifted = pearson([f"{1e8 + a:.6f}" for a, _ in pairs], [f"{1e8 + b:.6f}" for _, b in pairs]).value
    assert shifted == pytest.approx(plain, abs=1e-6)


@given(some, st.randoms(use_true_random=False))
def test_a_resample_is_measured_as_if_it_were_the_corpus(pairs: list[tuple[int, int]], chance: random.Random) -> None:
    x, y = ([str(value) for value in side] for side in zip(*pairs, strict=True))
    picks = [chance.randrange(len(x)) for _ in x]
    drawn = [x[at] for at in picks], [y[at] for at in picks]
    for tally, whole in ((pearson_tally, pearson), (spearman_tally, spearman)):
        assert tally(x, y).resampled(np.array(picks)) == pytest.approx(whole(*drawn).value, abs=1e-9)


def test_texts_that_are_no_numbers_are_named() -> None:
    for name in ("pearson", "spearman", "mae", "rmse"):
        for wrong in ("warm", "nan", "inf", ""):
            with pytest.raises(ValueError, match=f"{name}: '{wrong}'"):
                metric(name)(["1", wrong], ["1", "2"])
    assert [metric(name).higher_is_better for name in ("pearson", "spearman", "mae", "rmse")] == [
        True,
        True,
        False,
        False,
    ]
