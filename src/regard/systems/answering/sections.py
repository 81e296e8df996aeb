"""Recipe sections of answering: stories, a generated world, the memory network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.attention_section import Share, Size
from regard.recipes.data_section import Reading
from regard.recipes.data_sections import SplitFiles
from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Model

if TYPE_CHECKING:
    from regard.data.example import Reader


class MemoryNetworkSection(Model):
    """An end-to-end memory network: a question reads a story in hops."""

    kind: Literal["memory_network"]
    """Says that it is this model."""
    dim: Size = 20
    """Width of the embeddings."""
    num_hops: Size = 3
    """How often it reads."""
    tying: Literal["adjacent", "layerwise"] = "adjacent"
    """Whether what one hop reads by is what the next asks by, or all hops are alike."""
    memory_size: Size = 50
    """How many sentences it remembers, the last ones."""
    empty_slots: bool = True
    """Whether the empty part of the memory can be looked at too."""
    position_encoding: bool = True
    """Whether the places of words in a sentence count."""
    noise: Share = 0.1
    """The rate of empty memories in training."""
    linear_start: bool = False
    """Whether training begins without the softmax."""


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
