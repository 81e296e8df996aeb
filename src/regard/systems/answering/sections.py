"""Recipe sections of answering: stories, a generated world, the memory network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import Reading
from regard.recipes.data_sections import SplitFiles
from regard.recipes.generated_sections import GeneratedData

if TYPE_CHECKING:
    from regard.data.example import Reader


class StoriesData(SplitFiles):
    """Stories with questions in the format of bAbI: numbered lines, a question with a tab and its answer."""

    format: Literal["stories"]
    """Says that it is this kind of data; `*` in the name of a file stands for several: `qa*_train.txt`."""

    def reader(self, named: str, reading: Reading) -> Reader:
        from regard.data import Stories

        return Stories(self._path(named), **self.reading())


class WorldData(GeneratedData):
    """Stories of a small world with a question each, after the first tasks of bAbI; made on the spot."""

    made: ClassVar[str] = "regard.systems.answering.world:World"

    format: Literal["world"]
    """Says that it is this kind of data."""
    asked: Literal["one_fact", "two_facts", "yes_no", "counting"] = "one_fact"
    """What is asked: where someone is, where a thing is, whether someone is somewhere, how many things someone has."""
    train_size: int = Field(1000, ge=1)
    """How many questions to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many questions to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many questions to test on; no story of them is learned from."""
    longest: int = Field(10, ge=4)
    """The most sentences of a story; the fewest are 4."""
    seed: int = 0
    """Another seed, other stories."""
