"""The section `data` of recipes that learn bits from vectors: one class for each task of Neural Turing Machines."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from regard.recipes.section import Section


class EpisodeData(Section):
    """What all episodes have in common: they are drawn on the spot, those to learn from without end."""

    valid_size: int = Field(320, ge=1)
    """How many sequences to validate on."""
    test_size: int = Field(640, ge=1)
    """How many sequences to test on."""
    seed: int = 0
    """Another seed, other sequences."""

    def rule(self) -> dict[str, Any]:
        """What makes the task what it is, by name."""
        return self.model_dump(exclude={"format", *EpisodeData.model_fields})


class CopyData(EpisodeData):
    """Random vectors of bits, to be said again."""

    format: Literal["copy"]
    """Says that it is this kind of data."""
    bits: int = Field(8, ge=1)
    """Of a vector."""
    shortest: int = Field(1, ge=1)
    """The fewest vectors of a sequence."""
    longest: int = Field(20, ge=1)
    """The most vectors of a sequence."""


class RepeatCopyData(EpisodeData):
    """Random vectors of bits, to be said again as often as a number says, and then the end."""

    format: Literal["repeat_copy"]
    """Says that it is this kind of data."""
    bits: int = Field(8, ge=1)
    """Of a vector."""
    shortest: int = Field(1, ge=1)
    """The fewest vectors of a sequence."""
    longest: int = Field(10, ge=1)
    """The most vectors of a sequence."""
    least: int = Field(1, ge=1)
    """The fewest times."""
    most: int = Field(10, ge=1)
    """The most times."""


class AssociativeRecallData(EpisodeData):
    """Items of a few vectors; asked is the item that came after one of them."""

    format: Literal["associative_recall"]
    """Says that it is this kind of data."""
    bits: int = Field(6, ge=1)
    """Of a vector."""
    vectors: int = Field(3, ge=1)
    """Of an item."""
    fewest: int = Field(2, ge=2)
    """The fewest items."""
    most: int = Field(6, ge=2)
    """The most items."""


class NgramsData(EpisodeData):
    """Bits that depend on those before them, by a table of its own for each sequence; asked is each next bit."""

    format: Literal["ngrams"]
    """Says that it is this kind of data."""
    length: int = Field(200, ge=1)
    """Bits of a sequence."""
    order: int = Field(6, ge=1)
    """N: a bit depends on the N - 1 before it."""


class PrioritySortData(EpisodeData):
    """Random vectors of bits with priorities; asked are those with the highest, in order."""

    format: Literal["priority_sort"]
    """Says that it is this kind of data."""
    bits: int = Field(8, ge=1)
    """Of a vector."""
    vectors: int = Field(20, ge=1)
    """How many are read."""
    highest: int = Field(16, ge=1)
    """How many of them are to be said."""
