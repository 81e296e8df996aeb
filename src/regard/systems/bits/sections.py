"""Recipe sections of the tasks of Neural Turing Machines, one class per task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from regard.recipes.data_section import DataSection, FieldLayout, SplitName

if TYPE_CHECKING:
    from regard.data.example import Examples
    from regard.recipes.sections import Recipe
    from regard.systems.bits.episodes import Algorithm


class EpisodeData(DataSection):
    """Keys common to all tasks. Sequences are generated on demand; the number of training sequences is unlimited."""

    valid_size: int = Field(320, ge=1)
    """Number of validation sequences."""
    test_size: int = Field(640, ge=1)
    """Number of test sequences."""
    seed: int = 0
    """Random seed of the sequences."""

    def rule(self) -> dict[str, Any]:
        """Return the arguments of the algorithm, by name."""
        return self.model_dump(exclude={"format", *EpisodeData.model_fields})

    def algorithm(self) -> Algorithm:
        """Return the task that generates the episodes."""
        from regard.systems.bits.episodes import ALGORITHMS

        return ALGORITHMS[self.format](**self.rule())

    def check(self) -> None:
        self.algorithm()

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.data.generated import ENDLESS
        from regard.systems.bits.episodes import Drawn

        size = {"train": ENDLESS, "valid": self.valid_size, "test": self.test_size}[split]
        return Drawn(self.algorithm(), split, size=size, seed=self.seed)


class CopyData(EpisodeData):
    """Copying of random bit vectors."""

    format: Literal["copy"]
    """Selects this format."""
    bits: int = Field(8, ge=1)
    """Bits per vector."""
    shortest: int = Field(1, ge=1)
    """Smallest number of vectors in a sequence."""
    longest: int = Field(20, ge=1)
    """Largest number of vectors in a sequence."""


class RepeatCopyData(EpisodeData):
    """Repeated copying of random bit vectors, followed by an end marker."""

    format: Literal["repeat_copy"]
    """Selects this format."""
    bits: int = Field(8, ge=1)
    """Bits per vector."""
    shortest: int = Field(1, ge=1)
    """Smallest number of vectors in a sequence."""
    longest: int = Field(10, ge=1)
    """Largest number of vectors in a sequence."""
    least: int = Field(1, ge=1)
    """Smallest number of repetitions."""
    most: int = Field(10, ge=1)
    """Largest number of repetitions."""


class AssociativeRecallData(EpisodeData):
    """Associative recall: the item that followed the queried one."""

    format: Literal["associative_recall"]
    """Selects this format."""
    bits: int = Field(6, ge=1)
    """Bits per vector."""
    vectors: int = Field(3, ge=1)
    """Vectors per item."""
    fewest: int = Field(2, ge=2)
    """Smallest number of items."""
    most: int = Field(6, ge=2)
    """Largest number of items."""


class NgramsData(EpisodeData):
    """Prediction of bits of an N-gram source, with a random table per sequence."""

    format: Literal["ngrams"]
    """Selects this format."""
    length: int = Field(200, ge=1)
    """Bits per sequence."""
    order: int = Field(6, ge=1)
    """Order N: a bit depends on the N - 1 before it."""


class PrioritySortData(EpisodeData):
    """Sorting of random bit vectors by priority."""

    format: Literal["priority_sort"]
    """Selects this format."""
    bits: int = Field(8, ge=1)
    """Bits per vector."""
    vectors: int = Field(20, ge=1)
    """Number of input vectors."""
    highest: int = Field(16, ge=1)
    """Number of output vectors, those of highest priority."""


def check_training(recipe: Recipe) -> None:
    """Check that the batch size is specified in sequences."""
    if recipe.train.batch.sentences is None:
        raise ValueError("batch has no sentences, and the task 'bits' draws so many at a time; set sentences")
