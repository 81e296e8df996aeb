"""Edit distance and the error rates made of it."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import pytest

from regard.evaluate import edit_distance, error_rate, metric, string_error_rate


@lru_cache
def plain_distance(a: str, b: str) -> int:
    """The definition, by recursion."""
    if not a or not b:
        return len(a) + len(b)
    return min(
        plain_distance(a[1:], b) + 1, plain_distance(a, b[1:]) + 1, plain_distance(a[1:], b[1:]) + (a[0] != b[0])
    )


def test_edit_distance_is_its_definition() -> None:
    letters = Random(3)
    for _ in range(200):
        a, b = ("".join(letters.choices("abc", k=letters.randint(0, 6))) for _ in range(2))
        assert edit_distance(a, b) == plain_distance(a, b)


def test_the_corpus_rate_is_edits_over_reference_words() -> None:
    """1 of 4 and 2 of 1: three edits in five words, not the mean of 0.25 and 2."""
    found = error_rate(["a b c x", "y z a"], ["a b c d", "z"])
    assert found.value == pytest.approx(3 / 5)
    assert (found.name, found.count) == ("WER", 2)


def test_the_closest_reference_counts_the_longest_of_equals() -> None:
    assert error_rate(["a b"], [["a b c d e", "a b c"]], unit="phoneme").value == pytest.approx(1 / 3)
    assert error_rate(["a b"], [["a", "a b c"]]).value == error_rate(["a b"], [["a b c", "a"]]).value == 1 / 3


def test_characters_include_spaces_and_case_is_a_choice() -> None:
    assert error_rate(["ab c"], ["abc"], unit="character").value == pytest.approx(1 / 3)
    assert error_rate(["A"], ["a"]).value == 1.0
    assert error_rate(["A"], ["a"], lowercase=True).value == 0.0


def test_a_pronunciation_is_right_if_it_is_any_of_them() -> None:
    hypotheses = ["R EH D", "K AE T", "D AO G Z", "AH"]
    references = [["R IY D", "R EH D"], ["K AE T"], ["D AO G"], ["AA", "EY"]]
    assert string_error_rate(hypotheses, references).value == 0.5
    assert metric("string_error")(hypotheses, references).value == 0.5
    assert metric("per")(hypotheses, references).value == pytest.approx(2 / 10)


def test_an_empty_reference() -> None:
    assert error_rate([""], [""]).value == 0.0
    assert error_rate(["a"], [""]).value == float("inf")


def test_bad_unit_is_named() -> None:
    with pytest.raises(ValueError, match="no unit 'words'; did you mean 'word'"):
        error_rate(["a"], ["a"], unit="words")
