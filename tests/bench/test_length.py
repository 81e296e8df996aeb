"""The benchmark of cost against length."""

from __future__ import annotations

import math

from benchmarks.length import power


def test_powers() -> None:
    rows = [(256, 1.0, 3.0), (512, 4.0, 6.0)]
    assert power(rows, 1) == 2.0
    assert power(rows, 2) == 1.0
    assert math.isnan(power(rows[:1], 1))
