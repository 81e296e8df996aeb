"""Expected calibration error."""

from __future__ import annotations

import numpy as np
import pytest

from regard.evaluate import calibration_error, calibration_tally, paired_bootstrap, reliability


def test_by_hand() -> None:
    """(0, 0.5]: 0.2 and 0.4, one right: |0.5 - 0.3|; (0.5, 1]: 0.9, wrong: 0.9. (2 · 0.2 + 0.9) / 3."""
    found = calibration_error([0.2, 0.4, 0.9], [True, False, False], bins=2)
    assert found.value == pytest.approx((2 * 0.2 + 0.9) / 3)
    assert str(found) == "ECE 0.4333 (bins:2|width:equal)"


def test_a_calibrated_model_has_none_and_one_bin_is_the_difference_of_the_means() -> None:
    confidences = [0.25] * 4 + [0.75] * 4
    right = [True, False, False, False, True, True, True, False]
    assert calibration_error(confidences, right).value == pytest.approx(0.0)
    assert calibration_error([0.9, 0.1], [False, True], bins=1).value == pytest.approx(0.0)
    assert calibration_error([0.9, 0.1], [False, True], bins=2).value == pytest.approx(0.9)


def test_bounds_belong_to_the_lower_bin() -> None:
    sizes = [each.size for each in reliability([0.0, 0.2, 0.2 + 1e-9, 1.0], [True] * 4, bins=5)]
    assert sizes == [2, 1, 0, 0, 1]


def test_a_tally_is_resampled() -> None:
    confidences, right = [0.2, 0.4, 0.9, 0.7], [True, False, False, True]
    picks = np.array([2, 2, 0])
    expected = calibration_error([0.9, 0.9, 0.2], [False, False, True]).value
    tally = calibration_tally(confidences, right)
    assert tally.resampled(picks) == pytest.approx(expected)
    assert paired_bootstrap(tally, tally, samples=10).p_value == 1.0


def test_what_is_no_confidence_is_named() -> None:
    with pytest.raises(ValueError, match=r"confidence 2 is 1.5"):
        calibration_error([0.5, 1.5], [True, True])
    with pytest.raises(ValueError, match=r"confidence 1 is nan"):
        calibration_error([float("nan")], [True])
    with pytest.raises(ValueError, match="one outcome per confidence"):
        calibration_error([0.5], [True, False])
    with pytest.raises(ValueError, match="empty"):
        calibration_error([], [])
    with pytest.raises(ValueError, match="bins must be 1 or more; got 0"):
        calibration_error([0.5], [True], bins=0)
