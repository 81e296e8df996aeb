"""Multi-label classification: encoder and field for any number of labels per example."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from regard.data.fields.column import Column, Ints
from regard.data.fields.field import Field
from regard.data.fields.labels import Labels, TagsField, names_of
from regard.data.problems import DataError


@dataclass(frozen=True)
class LabelSets(Labels):
    """The classes of a multi-label task; otherwise as `Labels`.

    Attributes:
        threshold: minimum probability at which a label is predicted, tuned on the validation data; None if not tuned.

    >>> labels = LabelSets.train([["drama"], [], ["comedy", "drama"]])
    >>> labels.names, labels.encode(["drama"]), labels.encode([])
    (('comedy', 'drama'), [1], [])
    """

    FILE: ClassVar[str] = "label_sets"

    threshold: float | None = field(default=None, compare=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load labels from a file written by `save`."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"{path} is not a list of labels: {error}") from error
        threshold = content.get("threshold") if isinstance(content, dict) else 0
        if not isinstance(content, dict) or not isinstance(threshold, float | None):
            raise DataError(f"{path} does not have the labels and the threshold of sets of labels")
        return cls(names_of(content.get("labels"), path), threshold=threshold)

    def save(self, path: str | Path) -> None:
        """Write the names and the threshold as JSON."""
        content = {"labels": self.names, "threshold": self.threshold}
        Path(path).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


@dataclass(frozen=True)
class LabelSetField(TagsField):
    """A set of labels per example: ids [B, N] padded with -100, and their number per example [B].

    >>> LabelSetField(LabelSets(("comedy", "drama"))).encode([["drama"], []])["ids"].counts
    array([1, 0])
    """

    def learn(self, values: Iterable[Any]) -> LabelSets:
        return LabelSets.train(values)

    def predicted(self, column: Column) -> Ints:
        """Return 1 per example: a set of labels counts as one prediction."""
        return np.ones_like(Field.predicted(self, column))
