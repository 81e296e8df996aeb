"""The nodes of a mask's expression."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import torch
from torch import Tensor

Shape = tuple[int, int, int, int]


class MaskShapeError(ValueError):
    """A mask does not fit the scores it is applied to; the message names both shapes."""

    __module__ = "regard.masks"


@dataclass(frozen=True)
class Grid:
    """The pairs to decide on: some queries and keys of scores of `shape`.

    Attributes:
        shape: [B, H, T, S].
        device: where the answer is wanted.
        some_rows: indices of queries [t]; None for all.
        some_cols: indices of keys [s]; None for all.
    """

    shape: Shape
    device: torch.device
    some_rows: Tensor | None = None
    some_cols: Tensor | None = None

    @property
    def rows(self) -> Tensor:
        """Indices of the queries, [t]."""
        return torch.arange(self.shape[2], device=self.device) if self.some_rows is None else self.some_rows

    @property
    def cols(self) -> Tensor:
        """Indices of the keys, [s]."""
        return torch.arange(self.shape[3], device=self.device) if self.some_cols is None else self.some_cols

    @property
    def places(self) -> Tensor:
        """Positions of queries on the key axis, [t]."""
        _, _, queries, keys = self.shape
        return self.rows + (keys - queries)


@dataclass(frozen=True)
class BlockEdges:
    """First and last (inclusive) query position and key index of each block: [t, 1] and [1, s]."""

    shape: Shape
    block: tuple[int, int]
    first_place: Tensor
    last_place: Tensor
    first_key: Tensor
    last_key: Tensor


class Node(abc.ABC):
    """A part of a mask: a leaf, or an operator over other parts. Immutable, printable, comparable."""

    by_position: bool = False
    """True if a query's position on the key axis matters, as in causal masks and windows."""

    @abc.abstractmethod
    def check(self, shape: Shape) -> None:
        """Raise MaskShapeError unless the part fits scores of `shape`."""

    @abc.abstractmethod
    def allowed(self, grid: Grid) -> Tensor:
        """The pairs that may be attended, broadcastable to [B, H, t, s]."""

    def forbidden(self, grid: Grid) -> Tensor:
        """The pairs that may not."""
        return ~self.allowed(grid)

    @abc.abstractmethod
    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        """(some pair of the block may be attended, every pair may be): an upper and a lower bound."""

    @abc.abstractmethod
    def lengths(self, batch: int, keys: int) -> Tensor | None:
        """Number of leading keys that matter to each sequence, [B]; None for no limit."""

    @abc.abstractmethod
    def row(self, index: int, queries: int) -> Node:
        """The part as query `index` of `queries` sees it, when that query is read alone."""

    @abc.abstractmethod
    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        """The part on a longer memory; what it does not speak of is `free` (may be attended) or not."""

    @abc.abstractmethod
    def select(self, rows: Tensor) -> Node:
        """Keep, repeat or reorder the sequences of the batch."""

    @abc.abstractmethod
    def to(self, device: torch.device) -> Node:
        """The part with its tensors on `device`."""

    @abc.abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors of the node, each with the batch first; from a dense leaf [B, H, T, S]."""
