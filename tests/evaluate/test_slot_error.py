"""Slot error rate."""

from __future__ import annotations

import pytest

from regard.evaluate import SlotErrors, metric, slot_error_rate, slot_errors

RECORDS = [
    "name[The Eagle], eatType[coffee shop], food[Thai], familyFriendly[yes]",
    "name[The Eagle Inn], food[Indian], area[city centre], familyFriendly[no]",
    "price[high], rating[high], name[Aroma]",
]


def errors(text: str, record: int) -> SlotErrors:
    """Of one text among the three records, whose other texts are empty."""
    texts = ["", "", ""]
    texts[record] = text
    return slot_errors(texts, RECORDS)[record]


def test_a_faithful_text_has_none() -> None:
    assert errors("The Eagle is a family-friendly coffee shop with Thai food.", 0) == (0, 0, 0, 4)
    assert errors("The Eagle Inn in the City Centre has Indian food and is not family friendly.", 1) == (0, 0, 0, 4)


def test_each_kind_by_hand() -> None:
    assert errors("The Eagle is a coffee shop.", 0) == SlotErrors(missing=2, wrong=0, repeated=0, slots=4)
    assert errors("The Eagle, a family friendly coffee shop: Thai food, good Thai food.", 0) == (0, 0, 1, 4)
    assert errors("The Eagle, a family friendly coffee shop in the city centre: Thai.", 0) == (0, 1, 0, 4)


def test_a_wrong_value_instead_of_the_right_one_is_one_error() -> None:
    assert errors("The Eagle is a family friendly coffee shop with Indian food.", 0) == (0, 1, 0, 4)
    assert errors("The Eagle is a coffee shop with Thai food, not family friendly.", 0) == (0, 1, 0, 4)


def test_the_longest_value_is_the_one_that_is_mentioned() -> None:
    assert errors("The Eagle Inn", 1) == (3, 0, 0, 4)


def test_a_value_of_two_slots_is_due_twice() -> None:
    assert errors("Aroma: high prices and a high rating", 2) == (0, 0, 0, 3)
    assert errors("Aroma: high prices", 2) == (1, 0, 0, 3)
    assert errors("Aroma: high, high, high", 2) == (0, 0, 1, 3)


def test_placeholders_count_as_the_value() -> None:
    assert errors("<name> is a family friendly <eatType> with <food> food", 0) == (0, 0, 0, 4)
    assert errors("<name> is <name>", 0) == (3, 0, 1, 4)
    assert errors("<name> in the <area>", 0) == (3, 1, 0, 4)
    found = slot_errors(["X-name X-food"], ["name[A], food[B]"], placeholder="X-{slot}")
    assert found == [(0, 0, 0, 2)]


def test_phrases_are_other_ways_to_say_a_value() -> None:
    phrases = {"familyFriendly": {"no": ["adults only"]}, "food": {"Indian": ["curries"]}}
    texts = ["", "The Eagle Inn, city centre, adults only, has curries.", ""]
    assert slot_errors(texts, RECORDS, phrases=phrases)[1] == (0, 0, 0, 4)
    assert "phrases:2" in slot_error_rate(texts, RECORDS, phrases=phrases).signature


def test_the_rate_is_of_the_sums() -> None:
    found = metric("slot_error")(["Thai", "Indian pub"], ["food[Thai]", "food[Indian], area[city], type[pub], name[X]"])
    assert found.value == pytest.approx(2 / 5)
    assert found.count == 2


def test_records_in_json() -> None:
    assert slot_errors(["2 rooms with a view"], ['{"rooms": 2, "has": ["view", "garden"]}']) == [(1, 0, 0, 3)]


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match="the record 'a red car' is neither"):
        slot_errors(["a"], ["a red car"])
    with pytest.raises(ValueError, match="is not JSON"):
        slot_errors(["a"], ["{a red car"])
    with pytest.raises(ValueError, match="placeholder"):
        slot_errors(["a"], ["a[b]"], placeholder="X")
