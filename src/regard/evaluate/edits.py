"""Edits by kind: the substitutions, deletions and insertions behind an error rate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from regard.evaluate.texts import References, paired_texts, unknown

_UNITS = ("word", "phoneme", "character")


class Edits(NamedTuple):
    """Counts of an alignment of hypotheses with references.

    Attributes:
        hits: reference units that the hypothesis has.
        substitutions: those with another unit in their place.
        deletions: those that are missing from the hypothesis.
        insertions: units of the hypothesis that have no counterpart.
    """

    hits: int
    substitutions: int
    deletions: int
    insertions: int

    @property
    def total(self) -> int:
        """The edit distance."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def length(self) -> int:
        """The units of the references."""
        return self.hits + self.substitutions + self.deletions

    @property
    def rate(self) -> float:
        """The error rate; infinite for insertions alone."""
        if self.length == 0:
            return float("inf") if self.total else 0.0
        return self.total / self.length

    def __str__(self) -> str:
        return (
            f"{self.total} of {self.length}: {self.substitutions} substituted, {self.deletions} deleted, "
            f"{self.insertions} inserted"
        )


def count_edits(system: Sequence[Hashable], reference: Sequence[Hashable]) -> Edits:
    """Count the edits of one pair by kind: of the alignments with the fewest edits, one with the most hits.

    Two alignments can have equally many edits of other kinds: "a b" for "b c" is two substitutions, or an insertion, a
    hit and a deletion. The second has the hit, and is the one that is counted.

    >>> count_edits("a b".split(), "b c".split())
    Edits(hits=1, substitutions=0, deletions=1, insertions=1)
    >>> print(count_edits("the cat sat at mat".split(), "the cat sat on the mat".split()))
    2 of 6: 1 substituted, 1 deleted, 0 inserted
    """
    # The cost of a prefix pair is one number, edits * many - hits, so that hits only decide between equals.
    many = len(reference) + 1
    row = [many * place for place in range(len(reference) + 1)]
    for at, item in enumerate(system, start=1):
        diagonal, row[0] = row[0], many * at
        for column, other in enumerate(reference, start=1):
            through = diagonal - 1 if item == other else diagonal + many
            diagonal = row[column]
            row[column] = min(through, diagonal + many, row[column - 1] + many)
    edits = -(-row[-1] // many)
    hits = edits * many - row[-1]
    # The lengths leave one solution: hits + S + D = |reference|, hits + S + I = |system|, S + D + I = edits.
    substitutions = len(reference) + len(system) - 2 * hits - edits
    return Edits(hits, substitutions, len(reference) - hits - substitutions, len(system) - hits - substitutions)


def edits_by_kind(
    hypotheses: Sequence[str], references: References, *, unit: str = "word", lowercase: bool = False
) -> Edits:
    """Sum the edits of a corpus by kind; `rate` is that of `error_rate` with the same options.

    Args:
        hypotheses: one text each.
        references: for every one a text or several; the one with the fewest edits counts (of equals, the longest).
        unit: `"word"`, `"phoneme"` or `"character"`, as in `error_rate`.
        lowercase: compare without case.

    >>> found = edits_by_kind(["one two three", "four"], ["one three", "four five six"])
    >>> found, found.rate
    (Edits(hits=3, substitutions=0, deletions=2, insertions=1), 0.6)
    """
    if unit not in _UNITS:
        raise unknown("edits_by_kind", "unit", unit, _UNITS)
    grouped = paired_texts("edits_by_kind", hypotheses, references)
    best = [
        min(
            (count_edits(_units(hypothesis, unit, lowercase), _units(text, unit, lowercase)) for text in group),
            key=lambda edits: (edits.total, -edits.length),
        )
        for hypothesis, group in zip(hypotheses, grouped, strict=True)
    ]
    return Edits(*(sum(column) for column in zip(*best, strict=True)))


def _units(text: str, unit: str, lowercase: bool) -> Sequence[str]:
    words = (text.lower() if lowercase else text).split()
    return " ".join(words) if unit == "character" else words
