"""A table of numbers to be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
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


@dataclass(frozen=True)
class Network(Panel):
    """Nodes that read each other: drawn as lines between them, as thick as `values` [N, N], row reads column.

    Attributes:
        places: [N, 2], where each node stands; the first is the one that was asked for.
        groups: the label of each node, by which it is coloured; "" for none.
    """

    places: Tensor = field(default_factory=lambda: torch.zeros(0, 2, device="cpu"))
    groups: tuple[str, ...] = ()
