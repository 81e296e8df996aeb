"""Confidence: isotonic regression of right and wrong captions."""

from __future__ import annotations

import numpy as np
import pytest

from regard.evaluate.calibration import calibration_error
from regard.systems.captions.confidence import confidence_of, isotonic


def test_by_hand() -> None:
    # -2 and -1 are out of order and pooled: (0 + 1 + 1) / (2 + 2).
    assert isotonic([0.0, -2.0, -1.0, -3.0], [1, 1, 0, 0]) == ((-3.0, 1 / 3), (-1.5, 0.5), (0.0, 2 / 3))


def test_it_rises_and_calibrates() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-2 * scores))
    knots = isotonic(scores[:2000].tolist(), right[:2000].tolist())
    shares = [share for _, share in knots]
    assert shares == sorted(shares)
    confidences = [confidence_of(knots, score) for score in scores[2000:]]
    assert calibration_error(confidences, right[2000:].tolist()).value < 0.05
    assert calibration_error([0.99] * 2000, right[2000:].tolist()).value > 0.4


def test_outside_of_what_was_seen_it_is_constant() -> None:
    knots = ((-2.0, 0.2), (-1.0, 0.8))
    assert (confidence_of(knots, -9.0), confidence_of(knots, 0.0)) == (0.2, 0.8)


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(ValueError, match="0 scores"):
        isotonic([], [])
