"""A table of numbers to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Panel:
    """One table of a picture, dark where numbers are large: weights of attention, a memory, inputs and outputs.

    Panels whose columns are called alike lie one above the other, on the same places.

    Attributes:
        title: what it shows.
        values: [R, C], the first row on top.
        down, along: what rows and columns are.
        rows, columns: a name for each; none for their numbers.
    """

    title: str
    values: Tensor
    down: str = ""
    along: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
