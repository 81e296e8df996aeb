"""Recipe sections of bits: one class per task of Neural Turing Machines, the machine and the LSTM beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from regard.recipes.data_section import DataSection, Reading, Split

if TYPE_CHECKING:
    from regard.data.example import Examples
    from regard.systems.bits.episodes import Algorithm


class EpisodeData(DataSection):
    """Keys of all episodes, which are drawn on the spot, those to learn from without end."""

    valid_size: int = Field(320, ge=1)
    """How many sequences to validate on."""
    test_size: int = Field(640, ge=1)
    """How many sequences to test on."""
    seed: int = 0
    """Another seed, other sequences."""

    def rule(self) -> dict[str, Any]:
        """Return the arguments of the algorithm, by name."""
        return self.model_dump(exclude={"format", *EpisodeData.model_fields})

    def algorithm(self) -> Algorithm:
        """Return the task, as questions and answers."""
        from regard.systems.bits.episodes import ALGORITHMS

        return ALGORITHMS[self.format](**self.rule())

    def check(self) -> None:
        self.algorithm()

    def examples(self, split: Split, reading: Reading) -> Examples | None:
        from regard.data.generated import ENDLESS
        from regard.systems.bits.episodes import Drawn

        size = {"train": ENDLESS, "valid": self.valid_size, "test": self.test_size}[split]
        return Drawn(self.algorithm(), split, size=size, seed=self.seed)


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
