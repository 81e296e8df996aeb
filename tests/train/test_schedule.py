"""Learning rates by hand."""

from __future__ import annotations

import math

import pytest

from regard.train.objective import make_schedule
from regard.train.schedule import (
    ConstantSchedule,
    CosineSchedule,
    InverseSqrtSchedule,
    NoamSchedule,
    PlateauSchedule,
    Schedule,
    StepSchedule,
)
from tests.train.tiny import recipe


@pytest.mark.parametrize(
    ("schedule", "step", "factor"),
    [
        (ConstantSchedule(), 1, 1.0),
        (ConstantSchedule(warmup=4), 1, 0.25),
        (ConstantSchedule(warmup=4), 5, 1.0),
        (NoamSchedule(dim=4, warmup=100), 25, 0.5 * 25 * 1e-3),  # 100^-1.5 = 1e-3
        (NoamSchedule(dim=4, warmup=100), 100, 0.5 * 0.1),
        (NoamSchedule(dim=4, warmup=100), 400, 0.5 * 0.05),
        (InverseSqrtSchedule(warmup=100), 25, 0.25),
        (InverseSqrtSchedule(warmup=100), 900, 1 / 3),
        (CosineSchedule(steps=110, warmup=10, floor=0.2), 5, 0.5),
        (CosineSchedule(steps=110, warmup=10, floor=0.2), 10, 1.0),
        (CosineSchedule(steps=110, warmup=10, floor=0.2), 60, 0.6),
        (CosineSchedule(steps=110, warmup=10, floor=0.2), 110, 0.2),
        (CosineSchedule(steps=110, warmup=10, floor=0.2), 500, 0.2),
        (StepSchedule(start=10, every=5, decay=0.1), 9, 1.0),
        (StepSchedule(start=10, every=5, decay=0.1), 14, 0.1),
        (StepSchedule(start=10, every=5, decay=0.1), 20, 0.001),
    ],
)
def test_factors(schedule: Schedule, step: int, factor: float) -> None:
    assert math.isclose(schedule.factor(step), factor, rel_tol=1e-12)


def test_a_plateau_forgives_as_often_as_it_says_and_goes_on_after_a_checkpoint() -> None:
    schedule = PlateauSchedule(decay=0.5, patience=2)
    factors = []
    for value in (0.5, 0.4, 0.5, 0.5, 0.6, 0.5, 0.5):  # higher is better: 0.5 first, 0.6 at the fifth
        schedule.observe(value, higher_is_better=True)
        factors.append(schedule.factor(1))
    assert factors == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    resumed = PlateauSchedule(decay=0.5, patience=2)
    resumed.restore(schedule.state())
    resumed.observe(0.1, higher_is_better=True)
    assert resumed.factor(1) == 0.25


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("constant", ConstantSchedule(7)),
        ("noam", NoamSchedule(512, 7)),
        ("inverse_sqrt", InverseSqrtSchedule(7)),
        ("cosine", CosineSchedule(40, 7)),
        ("steps", StepSchedule(1, 1000, 0.5, 7)),
    ],
)
def test_a_recipe_names_them(name: str, made: Schedule) -> None:
    assert make_schedule(recipe(f"train.schedule={{name: {name}, warmup: 7}}")) == made
