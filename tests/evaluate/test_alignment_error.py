"""Alignment error rate, precision and recall, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from regard.evaluate.alignment_error import alignment_error_rate, alignment_scores, alignment_tally

FOUND = [{(0, 0), (1, 1), (2, 1)}, {(0, 1)}]
SURE = [{(0, 0), (2, 2)}, {(0, 0)}]
POSSIBLE = [{(1, 1), (0, 0)}, {(0, 1)}]


def test_by_hand() -> None:
    scores = {name: score.value for name, score in alignment_scores(FOUND, SURE, POSSIBLE).items()}
    precision, recall = 3 / 4, 1 / 3
    assert scores == pytest.approx(
        {
            "aer": 1 - (1 + 3) / (4 + 3),
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
        }
    )


def test_of_a_corpus_and_not_a_mean_over_sentences() -> None:
    tally = alignment_tally(FOUND, SURE, POSSIBLE)
    assert tally.resampled(np.array([1])) == pytest.approx(1 - 1 / 2)
    assert tally.score().value != pytest.approx((tally.resampled(np.array([0])) + tally.resampled(np.array([1]))) / 2)


def test_perfect_empty_and_without_possible_links_one_less_f1() -> None:
    assert alignment_error_rate(SURE, SURE, SURE).value == 0.0
    assert alignment_error_rate([set()], [{(0, 0)}], [set()]).value == 1.0
    scores = alignment_scores(FOUND, SURE, SURE)
    assert scores["aer"].value == pytest.approx(1 - scores["f1"].value)


def test_other_numbers_of_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match=r"2 sentences.*1 and 2"):
        alignment_error_rate(FOUND, SURE[:1], POSSIBLE)
