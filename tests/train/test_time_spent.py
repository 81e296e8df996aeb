"""The time of a run: spent by activity, and left."""

from __future__ import annotations

import pytest

from regard.train.time_spent import TimeSpent


def test_what_is_left_counts_updates_checkpoints_and_validations() -> None:
    time = TimeSpent()
    assert time.left(10, 2, 1.0) is None
    for _ in range(4):
        time.add("updates", 2.0)
    assert time.left(10, 2, 1.5) == pytest.approx(20.0)  # nobody knows yet what a validation takes
    time.validation = 30.0
    assert time.left(10, 2, 1.5) == pytest.approx(20.0 + 3.5 * 30.0)
    time.add("validations", 10.0)
    assert time.left(10, 2, 1.5) == pytest.approx(20.0 + 3.5 * 10.0)
    time.add("checkpoints", 4.0)  # half as long as the updates
    assert time.left(10, 2, 1.5) == pytest.approx(30.0 + 3.5 * 10.0)


def test_the_last_updates_tell_the_speed() -> None:
    time = TimeSpent()
    for seconds in (100.0, *[1.0] * 200):
        time.add("updates", seconds)
    assert time.left(50, 0, 0.0) == pytest.approx(50.0)


def test_it_says_how_it_was_spent() -> None:
    time = TimeSpent()
    assert str(time) == "0 ms"
    for _ in range(3):
        time.add("updates", 40.0)
    time.add("validations", 20.0)
    time.add("checkpoints", 0.1)
    time.add("final measurements", 5.0)
    assert str(time) == "2 min 25 s: 2 min in 3 updates, 20 s in 1 validation, 5.0 s in the final measurements"
    with time.on("preparation"):
        pass
    assert time.count("preparation") == 1
