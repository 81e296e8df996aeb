"""A table of numbers to be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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
        outlined: cells (row, column) with a frame around them, such as the links of a gold alignment.
        centres: for each row a place among the columns, such as the p_t of a local window; empty for none.
    """

    title: str
    values: Tensor
    down: str = ""
    along: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    outlined: tuple[tuple[int, int], ...] = ()
    centres: tuple[float, ...] = ()


@dataclass(frozen=True)
class Heads(Panel):
    """Attention of all layers and heads between the same rows and columns; `values` is what a single map of it shows.

    Attributes:
        weights: [L, H, R, C], a distribution over the columns in each row.
        layers, heads: a name for each; none for their numbers from 1.
        kind: rows and columns are the same text ("self", "causal"), or two ("cross").
    """

    weights: Tensor = field(default_factory=lambda: torch.zeros(0, 0, 0, 0, device="cpu"))
    layers: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    kind: Literal["self", "causal", "cross"] = "cross"


@dataclass(frozen=True)
class Network(Panel):
    """Nodes that read each other: drawn as lines between them, as thick as `values` [N, N], row reads column.

    Attributes:
        places: [N, 2], where each node stands; the first is the one that was asked for.
        groups: the label of each node, by which it is coloured; "" for none.
    """

    places: Tensor = field(default_factory=lambda: torch.zeros(0, 2, device="cpu"))
    groups: tuple[str, ...] = ()
