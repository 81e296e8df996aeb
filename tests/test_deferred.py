"""Deferred fields are computed once, when they are read, and survive a replacement unread."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass

import pytest

from regard.deferred import deferrable, deferred, replaced


@deferrable("square", "name")
@dataclass(frozen=True)
class Number:
    value: int
    square: int
    name: str | None = None


def test_a_replacement_leaves_it_deferred() -> None:
    read: list[int] = []

    def square() -> int:
        read.append(1)
        return 49

    made = replaced(Number(7, deferred(square)), name="seven")
    assert (made.value, made.name, read) == (7, "seven", [])
    assert made == Number(7, 49, "seven")
    assert repr(made) == "Number(value=7, square=49, name='seven')"
    assert read == [1]


def test_it_stays_frozen_and_keeps_its_defaults() -> None:
    assert Number(2, 4).name is None
    with pytest.raises(FrozenInstanceError):
        Number(2, 4).square = 5  # type: ignore[misc]
    with pytest.raises(TypeError, match="square"):
        Number(2)  # type: ignore[call-arg]
