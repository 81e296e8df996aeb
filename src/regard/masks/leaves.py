"""Leaf nodes of a mask: padding, windows (including causal), dense."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks.node import BlockEdges, Grid, MaskShapeError, Node, Shape

Comparison = Callable[[Tensor, Tensor], Tensor]


class Padding(Node):
    """Keys at and after each sequence's length are padding.

    The maximal length is stored on the host, since reading it from a GPU would synchronise at every call; None if
    unknown. So is whether every sequence has a key; False if unknown. On a CPU the most recent result is cached, since
    a decoder needs the same one at every step.
    """

    def __init__(self, lengths: Tensor, longest: int | None, *, some: bool = False) -> None:
        self._lengths = lengths
        self._longest = longest
        self.some = some
        self._asked: tuple[Comparison, int] | None = None
        self._answer = lengths

    def __repr__(self) -> str:
        return f"Mask.padding({self._lengths.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Padding) and torch.equal(self._lengths.cpu(), other._lengths.cpu())

    __hash__ = None  # type: ignore[assignment]

    def check(self, shape: Shape) -> None:
        batch, _, _, keys = shape
        count = self._lengths.shape[0]
        if count not in (1, batch):
            raise MaskShapeError(
                f"a padding mask for {count} sequences does not fit scores of shape {list(shape)} (B={batch})"
            )
        if self._longest is not None and self._longest > keys:
            raise MaskShapeError(
                f"padding lengths up to {self._longest} do not fit scores of shape {list(shape)} (S={keys})"
            )

    def allowed(self, grid: Grid) -> Tensor:
        return self._compared(torch.lt, grid)

    def forbidden(self, grid: Grid) -> Tensor:
        return self._compared(torch.ge, grid)

    def _compared(self, compare: Comparison, grid: Grid) -> Tensor:
        """Compare positions with lengths, [B, 1, 1, s]."""
        plain = type(self._lengths) is Tensor and self._lengths.is_cpu and not torch.compiler.is_compiling()
        if not plain or grid.some_cols is not None:
            return compare(grid.cols, self._lengths.view(-1, 1, 1, 1))
        asked = (compare, grid.shape[3])
        if self._asked != asked or (self._answer.is_inference() and not torch.is_inference_mode_enabled()):
            self._asked, self._answer = asked, compare(grid.cols, self._lengths.view(-1, 1, 1, 1))
        return self._answer

    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        lengths = self._lengths[:, None, None, None]
        return edges.first_key < lengths, edges.last_key < lengths

    def lengths(self, batch: int, keys: int) -> Tensor:
        return self._lengths.expand(batch)

    def row(self, index: int, queries: int) -> Node:
        return self

    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        place = torch.arange(size, device=self._lengths.device)
        inside = (place < self._lengths.unsqueeze(1))[:, None, None, :]
        return Dense(inside).embed(before, size, after, free=free)

    def select(self, rows: Tensor) -> Node:
        return (
            self
            if self._lengths.shape[0] == 1
            else Padding(self._lengths.index_select(0, rows.to(self._lengths.device)), None, some=self.some)
        )

    def to(self, device: torch.device) -> Node:
        return (
            self if self._lengths.device == device else Padding(self._lengths.to(device), self._longest, some=self.some)
        )

    def tensors(self) -> tuple[Tensor, ...]:
        return (self._lengths,)


class Window(Node):
    """Keys in (position + ahead - width, position + ahead]; without a width all up to position + ahead (causal)."""

    by_position = True

    def __init__(self, width: int | None, ahead: int) -> None:
        self._width = width
        self._ahead = ahead

    def __repr__(self) -> str:
        width = [] if self._width is None else [str(self._width)]
        ahead = [f"ahead={self._ahead}"] if self._ahead else []
        return f"Mask.{'causal' if self._width is None else 'window'}({', '.join(width + ahead)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and (self._width, self._ahead) == (other._width, other._ahead)

    __hash__ = None  # type: ignore[assignment]

    @property
    def first(self) -> int | None:
        """Keys after position + first are visible; None without a width."""
        return None if self._width is None else self._ahead - self._width

    @property
    def last(self) -> int:
        """Keys up to and including position + last are visible."""
        return self._ahead

    def check(self, shape: Shape) -> None:
        pass

    def allowed(self, grid: Grid) -> Tensor:
        last = (grid.places + self._ahead).unsqueeze(1)
        inside = grid.cols <= last
        if self._width is not None:
            inside = inside & (grid.cols > last - self._width)
        return inside[None, None]

    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        first, last = edges.first_place + self._ahead, edges.last_place + self._ahead
        some, every = edges.first_key <= last, edges.last_key <= first
        if self._width is not None:
            some = some & (edges.last_key > first - self._width)
            every = every & (edges.first_key > last - self._width)
        return some[None, None], every[None, None]

    def lengths(self, batch: int, keys: int) -> Tensor | None:
        return None

    def row(self, index: int, queries: int) -> Node:
        # A query read alone stands at the last key; one with others after it stands that many keys before.
        return Window(self._width, self._ahead + index + 1 - queries)

    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        return self

    def select(self, rows: Tensor) -> Node:
        return self

    def to(self, device: torch.device) -> Node:
        return self

    def tensors(self) -> tuple[Tensor, ...]:
        return ()


class Dense(Node):
    """Booleans [B, H, T, S], any size 1 for "the same for all".

    Attributes:
        reach: [B], one past the last key that any query may attend; kept after a single query row was selected.
    """

    def __init__(self, pairs: Tensor, *, reach: Tensor | None = None) -> None:
        self._pairs = pairs
        self._reach = reach

    def __repr__(self) -> str:
        return f"Mask.of(<{'x'.join(map(str, self._pairs.shape))}, {int(self._pairs.sum())} allowed>)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dense) and torch.equal(self._pairs.cpu(), other._pairs.cpu())

    __hash__ = None  # type: ignore[assignment]

    def folded(self, other: Dense) -> Dense:
        """Allows the pairs that both sides allow."""
        mine, theirs = self._pairs.shape, other._pairs.shape
        if any(a != b and 1 not in (a, b) for a, b in zip(mine, theirs, strict=True)):
            raise MaskShapeError(f"masks of shapes {list(mine)} and {list(theirs)} cannot be joined")
        pairs = self._pairs & other._pairs.to(self._pairs.device)
        return Dense(pairs)

    def check(self, shape: Shape) -> None:
        mine = tuple(self._pairs.shape)
        if any(a not in (1, b) for a, b in zip(mine, shape, strict=True)):
            hint = ""
            if mine[:2] == (1, 1) and mine[2] == shape[0] and mine[3] == shape[3]:
                hint = "; for one row of keys a sequence, write Mask.keys(allowed)"
            raise MaskShapeError(f"a mask of shape {list(mine)} does not fit scores of shape {list(shape)}{hint}")

    def allowed(self, grid: Grid) -> Tensor:
        pairs = self._pairs
        if grid.some_rows is not None and pairs.shape[2] > 1:
            pairs = pairs.index_select(2, grid.some_rows)
        if grid.some_cols is not None and pairs.shape[3] > 1:
            pairs = pairs.index_select(3, grid.some_cols)
        return pairs

    def bounds(self, edges: BlockEdges) -> tuple[Tensor, Tensor]:
        _, _, queries, keys = edges.shape
        height, width = edges.block
        pairs = self._pairs.expand(-1, -1, queries, keys)

        def tiles(fill: bool) -> Tensor:
            padded = F.pad(pairs, (0, -keys % width, 0, -queries % height), value=fill)
            batch, heads, down, across = padded.shape
            return padded.reshape(batch, heads, down // height, height, across // width, width)

        return tiles(False).any(5).any(3), tiles(True).all(5).all(3)

    def lengths(self, batch: int, keys: int) -> Tensor | None:
        if self._reach is not None:
            return self._reach.expand(batch)
        reachable = self._pairs.any(2).any(1).expand(batch, keys)
        places = torch.arange(1, keys + 1, device=reachable.device)
        return (reachable * places).amax(1) if keys else places.new_zeros(batch)

    def row(self, index: int, queries: int) -> Node:
        if self._pairs.shape[2] == 1:
            return self
        reach = self.lengths(self._pairs.shape[0], self._pairs.shape[3])
        return Dense(self._pairs[:, :, index : index + 1], reach=reach)

    def embed(self, before: int, size: int, after: int, *, free: bool) -> Node:
        if self._pairs.shape[2] > 1 or self._reach is not None:
            raise MaskShapeError(
                f"a mask of shape {list(self._pairs.shape)} differs by query: it cannot follow a growing memory"
            )
        return Dense(F.pad(self._pairs.expand(-1, -1, -1, size), (before, after), value=free))

    def select(self, rows: Tensor) -> Node:
        if self._pairs.shape[0] == 1:
            return self
        rows = rows.to(self._pairs.device)
        return Dense(self._pairs.index_select(0, rows), reach=None if self._reach is None else self._reach[rows])

    def to(self, device: torch.device) -> Node:
        if self._pairs.device == device:
            return self
        return Dense(self._pairs.to(device), reach=None if self._reach is None else self._reach.to(device))

    def tensors(self) -> tuple[Tensor, ...]:
        return (self._pairs,)
