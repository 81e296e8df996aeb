"""Nodes of a mask expression."""

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
    """Queries and keys to evaluate a mask for, out of scores of `shape`.

    Attributes:
        shape: [B, H, T, S].
        device: device of the result.
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
    """Node of a mask: a leaf, or an operator over other nodes. Immutable, printable, comparable."""

    by_position: bool = False
    """True if a query's position on the key axis matters, as in causal masks and windows."""

    @abc.abstractmethod
    def check(self, shape: Shape) -> None:
        """Raise MaskShapeError unless the part fits scores of `shape`."""

    @abc.abstractmethod
    def allowed(self, grid: Grid) -> Tensor:
        """Return the pairs that may attend, broadcastable to [B, H, t, s]."""

    def forbidden(self, grid: Grid) -> Tensor:
        """Return the pairs that may not."""
        return ~self.allowed(grid)

    @abc.abstractmethod
    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        """Return per block whether some pair, and whether every pair may attend: an upper and a lower bound."""

    @abc.abstractmethod
    def lengths(self, batch: int, keys: int) -> Tensor | None:
        """Return the number of leading keys that each sequence can attend, [B]; None for no limit."""

    @abc.abstractmethod
    def row(self, index: int, queries: int) -> Node:
        """Return the node for query `index` out of `queries`, read alone."""

    @abc.abstractmethod
    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        """Embed the node in a longer memory; keys outside of it are allowed if `free`."""

    @abc.abstractmethod
    def select(self, rows: Tensor) -> Node:
        """Keep, repeat or reorder the sequences of the batch."""

    @abc.abstractmethod
    def to(self, device: torch.device) -> Node:
        """Move the tensors of the node to `device`."""

    @abc.abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors of the node, each with the batch first; from a dense leaf [B, H, T, S]."""
