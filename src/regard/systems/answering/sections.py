"""Recipe sections of question answering: story files and generated stories."""

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
    """Stories with questions in the bAbI format: numbered lines; a question line has a tab and the answer."""

    format: Literal["stories"]
    """Selects this format; `*` in a file name matches several: `qa*_train.txt`."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Stories

        return Stories(self._path(named), **self.reading())


class WorldData(GeneratedData):
    """Generated stories about a small world, with one question each, modelled on the first bAbI tasks."""

    made: ClassVar[str] = "regard.systems.answering.world:World"

    format: Literal["world"]
    """Selects this format."""
    asked: Literal["one_fact", "two_facts", "yes_no", "counting"] = "one_fact"
    """Kind of question: location of a person, location of an object, yes or no, or a count."""
    train_size: int = Field(1000, ge=1)
    """Number of training questions."""
    valid_size: int = Field(500, ge=1)
    """Number of validation questions."""
    test_size: int = Field(1000, ge=1)
    """Number of test questions; their stories do not occur in training."""
    longest: int = Field(10, ge=4)
    """Largest number of sentences per story; the smallest is 4."""
    seed: int = 0
    """Random seed of the stories."""


def check_tokenizer(recipe: Recipe) -> None:
    """Check that the tokenizer keeps each answer as one word of the vocabulary."""
    section = recipe.tokenizer
    if section.kind != "words":
        raise ValueError(f"an answer is one word, so kind is 'words' for the task 'answer'; it is {section.kind!r}")
    if section.split != "whitespace":
        raise ValueError(f"an answer is one word, apple,milk too, so split is 'whitespace'; it is {section.split!r}")


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of label metrics: an answer is a single label, even if it contains spaces or commas."""
    return {"whole": True} if metric.compares == "labels" else {}
