"""What is made of a value that does not change."""

from __future__ import annotations

from regard.memo import Memo


def test_one_result_is_held_for_each_reader() -> None:
    value, made = Memo(), []

    def latest(reader: str, key: int) -> int:
        def make() -> int:
            made.append((reader, key))
            return key

        return value.latest(reader, key, make)

    assert [latest("one", 1), latest("one", 1), latest("other", 2), latest("one", 1)] == [1, 1, 2, 1]
    assert made == [("one", 1), ("other", 2)]
    assert [latest("one", 3), latest("one", 1)] == [3, 1]
    assert made[2:] == [("one", 3), ("one", 1)], "the last key alone is held"
