"""Any number of labels per example."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.fields.column import Column, Ints
from regard.data.fields.field import Field
from regard.data.fields.tags import TagsField
from regard.data.label_sets import LabelSets


@dataclass(frozen=True)
class LabelSetField(TagsField):
    """A set of labels per example: ids [B, N] padded with -100, and their number per example [B].

    >>> LabelSetField(LabelSets(("comedy", "drama"))).encode([["drama"], []])["ids"].counts
    array([1, 0])
    """

    def learn(self, values: Iterable[Any]) -> LabelSets:
        return LabelSets.train(values)

    def predicted(self, column: Column) -> Ints:
        """Return 1 for each example: a set is predicted as a whole."""
        return np.ones_like(Field.predicted(self, column))
