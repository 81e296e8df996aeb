"""Draws of generated data: their numbers never change, so that a run of today is a run of tomorrow."""

from __future__ import annotations

from hashlib import sha256
from itertools import islice

import numpy as np
import pytest

from regard.data.batching.order import splitmix64
from regard.data.generated import Generated
from regard.data.random_draws import Dice, random_numbers
from regard.systems.answering.world import World
from regard.systems.cloze.whodunit import Whodunit
from regard.systems.melodies.airs import Airs
from regard.systems.records.inns import Inns
from regard.systems.replies.smalltalk import Smalltalk
from regard.systems.summaries.notices import Notices
from regard.systems.translation.clauses import Clauses


def test_numbers_go_on_over_the_end_of_a_block() -> None:
    assert list(islice(random_numbers(5, 3), 150)) == splitmix64(np.arange(150, dtype=np.uint64), 5, 3).tolist()


def test_dice_draw_from_the_first_number_on() -> None:
    dice = Dice([7, 9, 2**64 - 1])
    assert (dice.below(5), dice.of("abc"), dice.below(2**64)) == (2, "a", 2**64 - 1)


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        (World("counting", "test", size=30, longest=25, seed=3), "f91adc7c1ce4"),
        (World(size=30), "221dd54a5f06"),
        (Whodunit("valid", size=30, longest=20, seed=3), "92636e52adb3"),
        (Airs("test", size=30, seed=3), "9480f4efa8a3"),
        (Inns("valid", size=30, seed=3), "0f966cbda98a"),
        (Smalltalk("train", size=30, seed=3), "814f03b50b15"),
        (Notices("test", size=30, seed=3), "6fd97a4532b6"),
        (Clauses("train", size=30, seed=3), "df20068c6989"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Generated) else "",
)
def test_examples_are_those_of_all_runs_before(examples: Generated, expected: str) -> None:
    assert sha256(repr([example.fields for example in examples]).encode()).hexdigest()[:12] == expected
