"""Distinct n-grams and repetition."""

from __future__ import annotations

import numpy as np
import pytest

from regard.evaluate import distinct, distinct_tally, metric, repetition, repetition_tally

TEXTS = ["I do not know.", "i do not care", "so it goes so it goes"]
NONE = ["x"] * 3


def test_distinct_by_hand() -> None:
    """Words: i do not know . care so it goes, 9 of 5 + 4 + 6; pairs: 5 more of 4 + 3 + 5."""
    assert distinct(TEXTS, NONE).value == pytest.approx(9 / 15)
    assert distinct(TEXTS, NONE, n=2).value == pytest.approx((4 + 1 + 3) / 12)
    assert distinct(TEXTS, NONE, lowercase=False).value == pytest.approx(10 / 15)


def test_a_resample_counts_its_texts_anew() -> None:
    tally = distinct_tally(TEXTS, NONE, n=1)
    assert tally.resampled(np.arange(3)) == pytest.approx(tally.score().value)
    assert tally.resampled(np.array([1, 1])) == pytest.approx(4 / 8)
    assert tally.resampled(np.array([0, 1])) == pytest.approx(6 / 9)


def test_repetition_by_hand() -> None:
    assert repetition(TEXTS, NONE, n=1).value == pytest.approx((0 + 0 + 3 / 6) / 3)
    assert repetition_tally(TEXTS, NONE, n=3).rows[:, 0] == pytest.approx([0, 0, 1 / 4])
    assert repetition(["a b", ""], ["x", "x"]).value == 0.0


def test_empty_texts_have_nothing_distinct() -> None:
    assert distinct(["", ""], ["x", "x"]).value == 0.0


def test_they_are_metrics_by_name() -> None:
    assert str(metric("distinct", n=2)(TEXTS, NONE)) == "distinct-2 0.6667 (n:2|case:lc|tok:13a|over:set)"
    assert metric("repetition").higher_is_better is False
    with pytest.raises(ValueError, match="n must be 1 or more; got 0"):
        metric("distinct", n=0)(TEXTS, NONE)
