"""Endings: what is asked can be answered, and splits are apart."""

from __future__ import annotations

import pytest

from regard.data import DataError
from regard.systems.classification.endings import BEGINNINGS, ENDINGS, Endings


def test_the_label_is_the_ending_of_the_word_that_is_asked_for() -> None:
    lengths = set()
    for example in Endings(size=300, shortest=2, longest=5):
        *words, asked = str(example.fields["text"]).split()
        (found,) = (word for word in words if word.startswith(asked.removesuffix("-")))
        assert found.removeprefix(asked.removesuffix("-")) == example.fields["label"]
        lengths.add(len(words))
    assert lengths == {2, 3, 4, 5}
    assert len({word[:2] for word in BEGINNINGS}) == len(BEGINNINGS)
    assert {example.fields["label"] for example in Endings(size=300)} == set(ENDINGS)


def test_splits_are_apart_and_seeds_differ() -> None:
    texts = [
        {example.fields["text"] for example in Endings(split, size=200, longest=2)}  # type: ignore[arg-type]
        for split in ("train", "valid", "test")
    ]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    assert Endings(size=9)[3] != Endings(size=9, seed=1)[3] == Endings(size=4, seed=1)[3]


@pytest.mark.parametrize(("shortest", "longest"), [(0, 3), (4, 3), (2, 13)])
def test_wrong_lengths_are_one_sentence(shortest: int, longest: int) -> None:
    with pytest.raises(DataError, match=f"texts of {shortest} to {longest} words: 1 <= shortest <= longest <= 12"):
        Endings(shortest=shortest, longest=longest)
    with pytest.raises(DataError, match="split is 'dev'; it can be train, valid, test"):
        Endings("dev")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="example 5 of 5"):
        Endings(size=5)[5]
