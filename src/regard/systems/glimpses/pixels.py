"""Field of picture pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.fields.column import EncodedRows
from regard.data.fields.vector_shape import VectorShape
from regard.data.fields.vectors import VectorsField
from regard.data.pictures.reading import Picture


@dataclass(frozen=True)
class PixelsField(VectorsField):
    """One picture per example. A value is an array [C, H, W], or a `Picture` with a note about its file.

    >>> import numpy as np
    >>> field = PixelsField(VectorShape((1, 2, 2)), dtype="uint8")
    >>> picture = Picture(np.zeros((1, 2, 2), np.uint8), "dog.jpg: its 1 x 1 pixels were enlarged")
    >>> field.encode([picture])["values"].notes
    ('dog.jpg: its 1 x 1 pixels were enlarged',)
    """

    def learn(self, values: Iterable[Any]) -> VectorShape:
        return super().learn(map(_pixels, values))

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        found = super().encode([_pixels(value) for value in values])
        notes = tuple(value.note for value in values if isinstance(value, Picture) and value.note is not None)
        return {**found, "values": found["values"]._replace(notes=notes)}


def _pixels(value: Any) -> Any:
    return value.pixels if isinstance(value, Picture) else value
