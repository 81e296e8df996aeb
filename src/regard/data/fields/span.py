"""Field of spans, as indices of the first and the last piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from regard.data.fields.column import Column, EncodedRows, Ints, Part, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PaddedArray, PaddingRule
from regard.data.problems import DataError
from regard.specials import IGNORE

_ENDS = 2  # values per span: first and last piece


@dataclass(frozen=True)
class SpanField(Field[FieldEncoder]):
    """Indices of the first and the last piece of a span, [B, 2]; no encoder to learn.

    >>> SpanField().encode([["2", "3"], [0, 1]])["pieces"].values.tolist()
    [2, 3, 0, 1]
    """

    LEARNS: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("pieces", rows=_ENDS),)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        return {"pieces": concatenate_rows([_pieces(value) for value in values], "int32")}

    def cells(self, column: Column) -> Ints:
        return self.predicted(column)

    def predicted(self, column: Column) -> Ints:
        return column.counts("pieces")

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        pieces = column.values["pieces"].reshape(-1, _ENDS)[examples].astype(np.int64)  # [B, 2]
        return {name: PaddedArray(pieces, PaddingRule(IGNORE, (0, None)))}


def _pieces(value: Sequence[str | int]) -> tuple[int, int]:
    try:
        first, last = map(int, value)
    except (TypeError, ValueError):
        raise DataError(f"the span {value!r} is not the numbers of its first and last piece") from None
    if not 0 <= first <= last:
        raise DataError(f"the span {value!r} ends before it begins")
    return first, last
