"""Recipe sections of answering: stories, a generated world, the memory network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout
from regard.recipes.data_sections import SplitFiles
from regard.recipes.generated_sections import GeneratedData

if TYPE_CHECKING:
    from regard.data.example import DataReader


class StoriesData(SplitFiles):
    """Stories with questions in the format of bAbI: numbered lines, a question with a tab and its answer."""

    format: Literal["stories"]
    """Selects this format; `*` in a file name matches several: `qa*_train.txt`."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Stories

        return Stories(self._path(named), **self.reading())


class WorldData(GeneratedData):
    """Stories of a small world with a question each, after the first tasks of bAbI; generated."""

    made: ClassVar[str] = "regard.systems.answering.world:World"

    format: Literal["world"]
    """Selects this format."""
    asked: Literal["one_fact", "two_facts", "yes_no", "counting"] = "one_fact"
    """Kind of question: location of a person, location of an object, yes or no, or a count."""
    train_size: int = Field(1000, ge=1)
    """Number of questions to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of questions to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of questions to test on; training has no story of them."""
    longest: int = Field(10, ge=4)
    """Largest number of sentences of a story; the smallest is 4."""
    seed: int = 0
    """Seed of the stories."""
