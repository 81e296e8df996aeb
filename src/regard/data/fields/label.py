"""One label per example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from regard.data.fields.column import Column, Encoded, Ints, Part, flat
from regard.data.fields.field import Field
from regard.data.fields.padding import Padded, Padding
from regard.data.labels import Labels
from regard.specials import IGNORE


@dataclass(frozen=True)
class LabelField(Field[Labels]):
    """One label per example: its id, [B]. An example that fills up a batch has -100, which no loss counts.

    >>> LabelField(Labels(("neg", "pos"))).encode(["pos", "neg"])["ids"].values
    array([1, 0], dtype=int32)
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids", rows=1),)

    def learn(self, values: Iterable[Any]) -> Labels:
        return Labels.train(values)

    def lenient(self) -> Self:
        """Unknown labels become -100."""
        return self.with_encoder(replace(self.learned, lenient=True))

    def encode(self, values: Sequence[Any]) -> dict[str, Encoded]:
        return {"ids": flat(self.learned.encode_all(values), "int32")}

    def known(self, column: Column) -> bool:
        ids = column.values["ids"]
        return not len(ids) or bool((ids != IGNORE).any())

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, Padded]:
        return {name: Padded(column.single("ids", examples).astype(np.int64), Padding(IGNORE, (0,)))}
