"""Splits of the data of a recipe: examples as text, and as ids."""

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
    """One split: its examples as text, and as ids where they have any.

    Attributes:
        examples: as text.
        encoded: as ids; None for examples that are drawn, or that are parts of one whole.
    """

    examples: Examples
    encoded: Corpus | None

    @property
    def corpus(self) -> Corpus:
        """The ids."""
        assert self.encoded is not None, "these examples have no ids"
        return self.encoded

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Repetitions of each example in an epoch; None for once."""
        if not isinstance(self.examples, Mixture) or all(weight == 1 for weight in self.examples.weights):
            return None
        return self.examples.row_weights(self.corpus.parts)

    def __len__(self) -> int:
        if self.encoded is not None:
            return len(self.encoded)
        return len(self.examples)  # type: ignore[arg-type]

    def texts(self, field: str) -> list[str]:
        """Return all texts of a field, in the order of the corpus; words and tags with spaces between."""
        return [_joined(example.fields[field]) for example in self.examples]


def examples(recipe: Recipe, name: Name) -> Examples | None:
    """Return the examples of a split; None if the recipe names none."""
    return recipe.data.examples(name, task_class(recipe.task).reading(recipe))


def encode_split(recipe: Recipe, name: Name, encoders: FieldEncoders, cache: Path) -> Split | None:
    """Return a split encoded, from the cache if it is there."""
    found = examples(recipe, name)
    if found is None:
        return None
    task = task_class(recipe.task)
    fields = task.encoded_fields(recipe, encoders)
    if name == "test":  # no model can say what training never showed: it counts as wrong
        fields = {field: kind.lenient() for field, kind in fields.items()}
    corpus = task.corpus(recipe, found, fields, cache)
    task.check_labels(found, corpus, fields, name)
    return Split(found, corpus)


def _joined(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value)
