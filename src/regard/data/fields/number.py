"""One number per example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.fields.column import Column, Encoded, Ints, Part, flat
from regard.data.fields.field import Field
from regard.data.fields.padding import PER_EXAMPLE, Padded
from regard.data.numbers import Numbers


@dataclass(frozen=True)
class NumberField(Field[Numbers]):
    """A number per example in units of the training data: float32, [B].

    >>> NumberField(Numbers(mean=2.0, deviation=1.0)).encode(["4"])["values"].values
    array([2.], dtype=float32)
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("values", "float32", rows=1),)

    def learn(self, values: Iterable[Any]) -> Numbers:
        return Numbers.train(values)

    def encode(self, values: Sequence[Any]) -> dict[str, Encoded]:
        return {"values": flat(self.learned.encode_all(values), "float32")}

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, Padded]:
        return {name: Padded(column.single("values", examples), PER_EXAMPLE)}
