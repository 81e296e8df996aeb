"""Data splits of a recipe: raw examples and encoded corpora."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data import Corpus, Examples, Mixture
from regard.data.example import Value
from regard.recipes.data_section import SplitName as Name
from regard.recipes.sections import Recipe
from regard.tasks.task import FieldEncoders, task_class


@dataclass(frozen=True)
class Split:
    """A data split: its raw examples, and its encoded corpus if it has one.

    Attributes:
        examples: raw examples.
        encoded: encoded examples; None for generated examples, or those that are parts of a single whole.
    """

    examples: Examples
    encoded: Corpus | None

    @property
    def corpus(self) -> Corpus:
        """The encoded corpus."""
        assert self.encoded is not None, "these examples have no ids"
        return self.encoded

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Repetitions of each example per epoch; None if each occurs once."""
        if not isinstance(self.examples, Mixture) or all(weight == 1 for weight in self.examples.weights):
            return None
        return self.examples.row_weights(self.corpus.parts)

    def __len__(self) -> int:
        if self.encoded is not None:
            return len(self.encoded)
        return len(self.examples)  # type: ignore[arg-type]

    def texts(self, field: str) -> list[str]:
        """Return all texts of a field in corpus order; words and tags are joined by spaces."""
        return [_joined(example.fields[field]) for example in self.examples]


def examples(recipe: Recipe, name: Name) -> Examples | None:
    """Return the raw examples of a split; None if the recipe does not define it."""
    return recipe.data.examples(name, task_class(recipe.task).reading(recipe))


def encode_split(recipe: Recipe, name: Name, encoders: FieldEncoders, cache: Path) -> Split | None:
    """Return an encoded split, from the cache if present."""
    found = examples(recipe, name)
    if found is None:
        return None
    task = task_class(recipe.task)
    fields = task.encoded_fields(recipe, encoders)
    if name == "test":  # labels unseen in training count as errors in the test split
        fields = {field: kind.lenient() for field, kind in fields.items()}
    corpus = task.corpus(recipe, found, fields, cache)
    task.check_labels(found, corpus, fields, name)
    return Split(found, corpus)


def _joined(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value)
