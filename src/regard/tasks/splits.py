"""Splits of the data of a recipe: examples as text, and as ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data import Corpus, DataError, Examples, Labels, Mixture
from regard.data.example import Value
from regard.recipes.data_section import Split as Name
from regard.recipes.sections import Recipe
from regard.specials import IGNORE
from regard.tasks.registry import task_class
from regard.tasks.task import Encoders


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
        """How often each example is learned from in an epoch; None for once."""
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


def prepared(recipe: Recipe, name: Name, encoders: Encoders, cache: Path) -> Split | None:
    """Return a split encoded, from the cache if it is there."""
    found = examples(recipe, name)
    if found is None:
        return None
    if name == "test":  # what training never showed, no model can say: it counts as wrong
        encoders = {
            field: replace(one, lenient=True) if isinstance(one, Labels) else one for field, one in encoders.items()
        }
    task = task_class(recipe.task)
    corpus = task.corpus(recipe, found, encoders, cache)
    task.check_labels(found, corpus, encoders, name)
    return Split(found, corpus)


def check_known_labels(corpus: Corpus, encoders: Encoders, name: Name) -> None:
    """Check that some label of each field is known; those that are not count as wrong.

    Raises:
        DataError: none is.
    """
    for field, one in encoders.items():
        ids = corpus.ids(field)
        if isinstance(one, Labels) and len(ids) and (ids == IGNORE).all():
            raise DataError(
                f"no {field} of the split {name} occurs in the training data; look whether they are the same"
            )


def _joined(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value)
