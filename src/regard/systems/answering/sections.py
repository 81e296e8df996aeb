"""Recipe sections of answering: stories, a generated world, the memory network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData
from regard.recipes.data_sections import SplitFiles

if TYPE_CHECKING:
    from regard.data.example import DataReader
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


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


def check_tokenizer(recipe: Recipe) -> None:
    """An answer is one word of the vocabulary."""
    section = recipe.tokenizer
    if section.kind != "words":
        raise ValueError(f"an answer is one word, so kind is 'words' for the task 'answer'; it is {section.kind!r}")
    if section.split != "whitespace":
        raise ValueError(f"an answer is one word, apple,milk too, so split is 'whitespace'; it is {section.split!r}")


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: an answer is one label, whatever is in it."""
    return {"whole": True} if metric.compares == "labels" else {}
