"""Composed masks: intersection, union, complement."""

from __future__ import annotations

import abc
import functools

import torch
from torch import Tensor

from regard.masks.leaves import Dense, Window
from regard.masks.node import BlockEdges, Grid, Node, Shape


class Pair(Node):
    """Two parts and a boolean operator between them."""

    sign: str
    neutral: bool
    """The value of one side at which the other decides."""

    def __init__(self, left: Node, right: Node) -> None:
        self._sides = (left, right)
        self.by_position = left.by_position or right.by_position

    def __repr__(self) -> str:
        return f" {self.sign} ".join(
            f"({side!r})" if isinstance(side, Pair) and side.sign != self.sign else repr(side) for side in self._sides
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._sides == other._sides

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    @abc.abstractmethod
    def join(left: Tensor, right: Tensor) -> Tensor:
        """Apply the operator to boolean tensors."""

    def check(self, shape: Shape) -> None:
        for side in self._sides:
            side.check(shape)

    def allowed(self, grid: Grid) -> Tensor:
        left, right = (side.allowed(grid) for side in self._sides)
        return self.join(left, right)

    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        (some_left, every_left), (some_right, every_right) = (side.bounds(edges) for side in self._sides)
        return self.join(some_left, some_right), self.join(every_left, every_right)

    def row(self, index: int, queries: int) -> Node:
        left, right = (side.row(index, queries) for side in self._sides)
        return type(self)(left, right)

    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        # Beside a side that knows about new keys (a window), one that does not leaves them to it.
        left, right = self._sides
        left_free = self.neutral if right.by_position and not left.by_position else free
        right_free = self.neutral if left.by_position and not right.by_position else free
        return type(self)(
            left.embed(before, size, after, free=left_free), right.embed(before, size, after, free=right_free)
        )

    def select(self, rows: Tensor) -> Node:
        left, right = (side.select(rows) for side in self._sides)
        return type(self)(left, right)

    def to(self, device: torch.device) -> Node:
        left, right = (side.to(device) for side in self._sides)
        return type(self)(left, right)

    def tensors(self) -> tuple[Tensor, ...]:
        left, right = self._sides
        return left.tensors() + right.tensors()


class Both(Pair):
    """Allows the pairs that both sides allow."""

    sign = "&"
    neutral = True

    @staticmethod
    def join(left: Tensor, right: Tensor) -> Tensor:
        return left & right

    def lengths(self, batch: int, keys: int) -> Tensor | None:
        left, right = (side.lengths(batch, keys) for side in self._sides)
        return left if right is None else right if left is None else torch.minimum(left, right)


def intersection(left: Node, right: Node) -> Node:
    """Return the intersection with as few nodes as possible, so that a growing memory keeps a small mask."""
    parts: list[Node] = []
    for part in (*conjuncts(left), *conjuncts(right)):
        if isinstance(part, Window) and part in parts:
            continue
        dense = next((i for i, other in enumerate(parts) if isinstance(other, Dense) and isinstance(part, Dense)), None)
        if dense is None:
            parts.append(part)
        else:
            parts[dense] = parts[dense].folded(part)  # type: ignore[attr-defined]
    return functools.reduce(Both, parts)


def conjuncts(node: Node) -> tuple[Node, ...]:
    """Return the operands of a chain of `&`."""
    return conjuncts(node._sides[0]) + conjuncts(node._sides[1]) if isinstance(node, Both) else (node,)


class Either(Pair):
    """Allows the pairs that either side allows."""

    sign = "|"
    neutral = False

    @staticmethod
    def join(left: Tensor, right: Tensor) -> Tensor:
        return left | right

    def lengths(self, batch: int, keys: int) -> Tensor | None:
        left, right = (side.lengths(batch, keys) for side in self._sides)
        return None if left is None or right is None else torch.maximum(left, right)


class Not(Node):
    """Allows the pairs that the other forbids."""

    def __init__(self, inner: Node) -> None:
        self.inner = inner
        self.by_position = inner.by_position

    def __repr__(self) -> str:
        return f"~({self.inner!r})" if isinstance(self.inner, Pair) else f"~{self.inner!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Not) and self.inner == other.inner

    __hash__ = None  # type: ignore[assignment]

    def check(self, shape: Shape) -> None:
        self.inner.check(shape)

    def allowed(self, grid: Grid) -> Tensor:
        return ~self.inner.allowed(grid)

    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        some, every = self.inner.bounds(edges)
        return ~every, ~some

    def lengths(self, batch: int, keys: int) -> Tensor | None:
        return None

    def row(self, index: int, queries: int) -> Node:
        return Not(self.inner.row(index, queries))

    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        return Not(self.inner.embed(before, size, after, free=not free))

    def select(self, rows: Tensor) -> Node:
        return Not(self.inner.select(rows))

    def to(self, device: torch.device) -> Node:
        return Not(self.inner.to(device))

    def tensors(self) -> tuple[Tensor, ...]:
        return self.inner.tensors()
