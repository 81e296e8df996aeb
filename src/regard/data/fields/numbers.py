"""Regression targets: encoder that standardises numbers, and the field of one number per example."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from regard.data.fields.column import Column, EncodedRows, Ints, Part, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray
from regard.data.problems import DataError

Written = str | list[str]


@dataclass(frozen=True)
class Numbers(FieldEncoder):
    """Standardisation of numbers by the training data: (x - mean) / deviation.

    Attributes:
        mean: mean of the training data.
        deviation: population standard deviation of the training data (divided by N).

    >>> numbers = Numbers.train(["1", "3"])
    >>> numbers, numbers.encode("4"), numbers.decode([2.0])
    (Numbers(mean=2.0, deviation=1.0), [2.0], ['4'])
    """

    FILE: ClassVar[str] = "numbers"

    mean: float
    deviation: float

    @classmethod
    def train(cls, values: Iterable[Written]) -> Numbers:
        """Compute mean and standard deviation of some numbers."""
        found = [float(str(value)) for value in values]
        if not found:
            raise DataError("there are no numbers in the training data")
        try:
            mean = math.fsum(found) / len(found)
            deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in found) / len(found))
        except OverflowError:
            raise DataError("the numbers of the training data are too large to be squared; divide them") from None
        if deviation <= 1e-12 * abs(mean):
            raise DataError(
                f"all {len(found)} numbers of the training data are {found[0]:g}; there is nothing to learn"
            )
        return cls(mean, deviation)

    @classmethod
    def load(cls, path: str | Path) -> Numbers:
        """Load from a file written by `save`."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            mean, deviation = float(content["mean"]), float(content["deviation"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise DataError(f"{path} does not have a mean and a deviation: {error!r}") from error
        if not (math.isfinite(mean) and 0 < deviation < math.inf):
            raise DataError(
                f"{path} has the mean {mean} and the deviation {deviation}; both are finite, the second > 0"
            )
        return cls(mean, deviation)

    def save(self, path: str | Path) -> None:
        """Write mean and deviation as JSON."""
        Path(path).write_text(json.dumps({"mean": self.mean, "deviation": self.deviation}), encoding="utf-8")

    @property
    def size(self) -> int:
        """One output."""
        return 1

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that the values depend on."""
        return f"{self.mean!r} {self.deviation!r}"

    def encode(self, value: Written) -> list[float]:
        """Return the standardised number as a list of length 1."""
        return [(float(str(value)) - self.mean) / self.deviation]

    def encode_all(self, values: Sequence[Written]) -> list[list[float]]:
        """Return the standardised numbers of many examples."""
        return [self.encode(value) for value in values]

    def decode(self, values: Iterable[float]) -> list[str]:
        """Return standardised numbers in the original unit, as text."""
        return [f"{value * self.deviation + self.mean:.6g}" for value in values]


@dataclass(frozen=True)
class NumberField(Field[Numbers]):
    """One standardised number per example: float32, [B].

    >>> NumberField(Numbers(mean=2.0, deviation=1.0)).encode(["4"])["values"].values
    array([2.], dtype=float32)
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("values", "float32", rows=1),)

    def learn(self, values: Iterable[Any]) -> Numbers:
        return Numbers.train(values)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        return {"values": concatenate_rows(self.learned.encode_all(values), "float32")}

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        return {name: PaddedArray(column.single("values", examples), PER_EXAMPLE)}
