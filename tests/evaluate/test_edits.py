"""Edits by kind against jiwer and against the definition."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import pytest

from regard.evaluate import Edits, count_edits, edits_by_kind, error_rate
from tests.evaluate.pairs import FIRST, HYPOTHESES, SECOND

# jiwer 4.0.0: WER and CER of the hypotheses, and hits, substitutions, deletions, insertions of words.
JIWER_FIRST, JIWER_SECOND = (0.5573770491803278, 0.43825042881646653), (0.5463414634146342, 0.4780793319415449)
JIWER_KINDS = (141, 34, 30, 48)


@pytest.mark.parametrize(("references", "rates"), [(FIRST, JIWER_FIRST), (SECOND, JIWER_SECOND)])
def test_rates_are_those_of_jiwer(references: list[str], rates: tuple[float, float]) -> None:
    for unit, rate in zip(("word", "character"), rates, strict=True):
        assert edits_by_kind(HYPOTHESES, references, unit=unit).rate == pytest.approx(rate, rel=1e-14)
        assert error_rate(HYPOTHESES, references, unit=unit).value == pytest.approx(rate, rel=1e-14)


def test_kinds_are_those_of_jiwer_where_one_alignment_is_best() -> None:
    assert edits_by_kind(HYPOTHESES, SECOND) == JIWER_KINDS


def test_kinds_are_their_definition() -> None:
    @lru_cache
    def best(a: str, b: str) -> tuple[int, int, int, int, int]:
        """(edits, -hits, substitutions, deletions, insertions), the least."""
        if not a or not b:
            return len(a) + len(b), 0, 0, len(b), len(a)
        ways = []
        for rest, cost in (
            (best(a[1:], b[1:]), (0, -1, 0, 0, 0) if a[0] == b[0] else (1, 0, 1, 0, 0)),
            (best(a, b[1:]), (1, 0, 0, 1, 0)),
            (best(a[1:], b), (1, 0, 0, 0, 1)),
        ):
            ways.append(tuple(x + y for x, y in zip(rest, cost, strict=True)))
        return min(ways)  # type: ignore[return-value]

    letters = Random(7)
    for _ in range(300):
        a, b = ("".join(letters.choices("abc", k=letters.randint(0, 7))) for _ in range(2))
        _, less_hits, *kinds = best(a, b)
        assert count_edits(a, b) == (-less_hits, *kinds), (a, b)


def test_the_closest_reference_counts_the_longest_of_equals() -> None:
    assert edits_by_kind(["a b"], [["a", "a b c"]]) == Edits(hits=2, substitutions=0, deletions=1, insertions=0)


def test_empty_texts() -> None:
    assert edits_by_kind([""], [""]).rate == 0.0
    assert edits_by_kind(["a"], [""]).rate == float("inf")
    assert edits_by_kind([""], ["a b"]) == (0, 0, 2, 0)


def test_bad_unit_is_named() -> None:
    with pytest.raises(ValueError, match="no unit 'words'"):
        edits_by_kind(["a"], ["a"], unit="words")
