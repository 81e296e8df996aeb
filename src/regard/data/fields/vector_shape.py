"""Encoder of array fields: the common shape of their arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from regard.data.fields.field_encoder import FieldEncoder
from regard.data.problems import DataError


@dataclass(frozen=True)
class VectorShape(FieldEncoder):
    """Shape of an array, with None for each axis of variable size.

    Attributes:
        axes: size of each axis, or None.

    >>> shape = VectorShape.of([(7, 80), (5, 80)])
    >>> shape.axes, shape.fits((1, 80)), shape.fits((1, 81))
    ((None, 80), True, False)
    """

    FILE: ClassVar[str] = "vectors"

    axes: tuple[int | None, ...]

    @classmethod
    def of(cls, shapes: Iterable[tuple[int, ...]]) -> Self:
        """Return the most specific shape that matches all given shapes.

        Raises:
            DataError: no shapes, or different numbers of axes.
        """
        found = set(shapes)
        if not found:
            raise DataError("there are no arrays in the training data")
        ranks = sorted({len(shape) for shape in found})
        if len(ranks) > 1 or not ranks[0]:
            counts = " and ".join(map(str, ranks))
            raise DataError(f"the arrays of the training data have {counts} axes; all must have as many, 1 or more")
        sizes = (set(axis) for axis in zip(*found, strict=True))
        return cls(tuple(next(iter(axis)) if len(axis) == 1 else None for axis in sizes))

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Return whether a shape matches."""
        if len(shape) != len(self.axes):
            return False
        return all(axis is None or axis == size for axis, size in zip(self.axes, shape, strict=True))

    @property
    def size(self) -> int:
        """Width of a vector: the size of the last axis; 1 for one axis of variable size."""
        return self.axes[-1] or 1

    @property
    def fingerprint(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"[{', '.join('any' if axis is None else str(axis) for axis in self.axes)}]"

    def save(self, path: str | Path) -> None:
        """Write the axes as a JSON list, with null for variable ones."""
        Path(path).write_text(json.dumps(self.axes), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            axes = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not a shape: {error}") from error
        if not isinstance(axes, list) or not axes or not all(one is None or type(one) is int for one in axes):
            raise DataError(f"{path} is not a shape, for example [null, 80] in JSON")
        return cls(tuple(axes))
