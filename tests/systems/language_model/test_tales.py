"""Tales: a name is given once and then follows from the animal, and splits are apart."""

from __future__ import annotations

import math
import re

import pytest

from regard.data import DataError
from regard.systems.language_model.tales import NAMES, Tales, name

PARTS = ("train", "valid", "test")


def texts(*arguments: str, **options: int) -> list[str]:
    return [str(example.fields["text"]) for example in Tales(*arguments, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [6, 1000, NAMES])
def test_a_name_follows_from_the_animal_once_it_was_given(names: int) -> None:
    for text in texts(size=100, names=names, animals=4, deeds=9):
        known = dict(re.findall(r"here is the (\w+) (\w+)", text))
        assert len(known) == len(set(known.values())) == 4
        deeds = text.split(" . ")[4:]
        assert len(deeds) == 9
        assert all(known[deed.split()[1]] == deed.split()[2] for deed in deeds)


def test_every_number_has_a_name_of_its_own() -> None:
    assert len({name(number) for number in range(NAMES)}) == NAMES == 38_416


def test_few_names_come_often_and_many_hardly_ever() -> None:
    few, many = (set(re.findall("[A-Z][a-z]+", " ".join(texts(size=300, names=names)))) for names in (20, NAMES))
    assert len(few) == 20
    assert len(many) > 890


def test_all_choices_are_as_likely() -> None:
    told = texts(size=1500, names=6, animals=2, deeds=1)
    pairs = [re.findall("[A-Z][a-z]+", text)[:2] for text in told]
    counts = [pairs.count([name(one), name(other)]) for one in range(6) for other in range(6) if one != other]
    assert sum(counts) == 1500
    assert max(abs(count - 50) for count in counts) < 32  # four and a half deviations


def test_what_no_one_can_know() -> None:
    """Two of six animals in order, two of nine names, and three times one of two animals with one of six deeds."""
    expected = math.log(6 * 5) + math.log(9 * 8) + 3 * math.log(2 * 6)
    assert Tales(names=9, animals=2, deeds=3).surprise == pytest.approx(expected)


def test_splits_are_apart_and_seeds_differ() -> None:
    found = [set(texts(part, size=200, names=6, animals=1, deeds=2)) for part in PARTS]
    assert not found[0] & found[1] | found[0] & found[2] | found[1] & found[2]
    assert Tales(size=9)[3] != Tales(size=9, seed=1)[3] == Tales(size=4, seed=1)[3]


def test_wrong_settings_are_one_sentence() -> None:
    with pytest.raises(DataError, match="split is 'dev'; it can be train, valid, test"):
        Tales("dev")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a tale has 1 to 6 animals, not 7"):
        Tales(animals=7)
    with pytest.raises(DataError, match="3 animals have as many names, and there are 38,416; names is 2"):
        Tales(names=2)
    with pytest.raises(IndexError, match="example 5 of 5"):
        Tales(size=5)[5]
