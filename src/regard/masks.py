"""What a query may attend to.

One polarity in the whole library: **True means "may attend"**. A mask is an expression, built from four
leaves and composed with ``&``, ``|`` and ``~``; it stays an expression until a shape is known, so that an
implementation can skip what it rules out instead of computing and discarding it.

Sizes everywhere: batch B, heads H, queries T, keys S. Query ``i`` stands at key ``i + S - T``: masks are
aligned to the *end*, so that the last query sees the last key whether or not earlier keys come from a cache.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

Shape = tuple[int, int, int, int]


class MaskShapeError(ValueError):
    """A mask does not fit the scores it is applied to; the message names both shapes."""


class Blocks(NamedTuple):
    """What a mask says of each block of ``block[0]`` queries by ``block[1]`` keys, as booleans [B or 1, H or 1, t, s].

    ``ruled_out``: nothing in the block may be attended, so a kernel skips it.
    ``full``: everything in it may be attended, so a kernel needs no mask there.
    A block that is neither must be masked pair by pair. Both are safe, not always sharp: a block of a composed
    mask may be left for the pairwise mask although it turns out to be empty or full.
    """

    ruled_out: Tensor
    full: Tensor


@dataclass(frozen=True)
class _Grid:
    """The pairs to decide on: query indices ``rows`` [t] and key indices ``cols`` [s] of scores of ``shape``."""

    shape: Shape
    rows: Tensor
    cols: Tensor

    @property
    def places(self) -> Tensor:
        """Where each query stands on the key axis, [t]."""
        _, _, queries, keys = self.shape
        return self.rows + (keys - queries)


@dataclass(frozen=True)
class _Edges:
    """First and last (inclusive) query place and key index of each block: [t, 1] and [1, s]."""

    shape: Shape
    block: tuple[int, int]
    first_place: Tensor
    last_place: Tensor
    first_key: Tensor
    last_key: Tensor


class Mask(abc.ABC):
    """What may be attended: an immutable boolean expression over (batch, head, query, key).

    >>> mask = Mask.padding([2, 3]) & Mask.causal()
    >>> mask
    Mask.padding([2, 3]) & Mask.causal()
    >>> mask.allowed((2, 1, 3, 3))[0, 0].int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    >>> print(Mask.causal().draw(2, 4))
    ■ ■ ■ □
    ■ ■ ■ ■
    """

    @staticmethod
    def padding(lengths: Tensor | Sequence[int]) -> Mask:
        """Keys at and after ``lengths[b]`` are padding. ``lengths``: [B] integers."""
        lengths = torch.as_tensor(lengths)
        if lengths.dim() != 1 or lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
            raise MaskShapeError(
                f"padding needs one integer a sequence, shape [B]; got {lengths.dtype} of shape {list(lengths.shape)}"
            )
        return _Padding(lengths, int(lengths.max()) if lengths.numel() else 0)

    @staticmethod
    def causal() -> Mask:
        """A query sees the keys up to its own place: j <= i + S - T."""
        return _Window(None, 0)

    @staticmethod
    def window(width: int, *, ahead: int = 0) -> Mask:
        """A query sees exactly ``width`` keys (fewer at the ends), ``ahead`` of which come after its own place.

        ``Mask.window(W)`` is causal: W keys, the last one the query's own. ``Mask.window(2 * D + 1, ahead=D)``
        is centred on the query.
        """
        if width < 1 or not 0 <= ahead < width:
            raise ValueError(f"a window needs width >= 1 and 0 <= ahead < width; got width={width}, ahead={ahead}")
        return _Window(width, ahead)

    @staticmethod
    def of(allowed: Tensor) -> Mask:
        """Wrap a boolean tensor, True = may attend: [S], [T, S], [B, T, S] or [B, H, T, S]; any size may be 1.

        One row of keys a sentence, as tokenizers give it, is ``Mask.of(allowed[:, None, :])``.
        """
        if allowed.dtype != torch.bool:
            raise TypeError(
                f"Mask.of takes a boolean tensor where True means 'may attend', not {allowed.dtype}; "
                "convert it yourself, so that the polarity is in your hands"
            )
        if not 1 <= allowed.dim() <= 4:
            raise MaskShapeError(f"a mask has 1 to 4 dimensions ([B, H, T, S]); got shape {list(allowed.shape)}")
        if allowed.dim() == 3:
            allowed = allowed.unsqueeze(1)
        return _Dense(allowed.reshape((1,) * (4 - allowed.dim()) + tuple(allowed.shape)))

    def __and__(self, other: Mask) -> Mask:
        return _Both(self, other)

    def __or__(self, other: Mask) -> Mask:
        return _Either(self, other)

    def __invert__(self) -> Mask:
        return _Not(self)

    def allowed(
        self,
        shape: Shape,
        *,
        heads: Tensor | None = None,
        rows: Tensor | None = None,
        cols: Tensor | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """The mask as booleans for scores of ``shape`` [B, H, T, S]; broadcastable to it, never larger.

        With ``heads``, ``rows`` and ``cols`` (indices) only those heads, queries and keys: a tile, without the
        whole matrix.
        """
        self._check(shape)
        device = self._device() or torch.device("cpu") if device is None else torch.device(device)
        rows = torch.arange(shape[2], device=device) if rows is None else rows
        cols = torch.arange(shape[3], device=device) if cols is None else cols
        allowed = self.to(device)._allowed(_Grid(shape, rows, cols))
        return allowed if heads is None or allowed.shape[1] == 1 else allowed.index_select(1, heads)

    def blocks(self, shape: Shape, block: tuple[int, int]) -> Blocks:
        """Which blocks of ``block[0]`` queries by ``block[1]`` keys are ruled out, and which are full."""
        self._check(shape)
        _, _, queries, keys = shape
        row = torch.arange(0, queries, block[0], device=self._device()).unsqueeze(1)
        col = torch.arange(0, keys, block[1], device=self._device()).unsqueeze(0)
        last_row = (row + block[0]).clamp(max=queries) - 1
        last_col = (col + block[1]).clamp(max=keys) - 1
        shift = keys - queries
        some, every = self._bounds(_Edges(shape, block, row + shift, last_row + shift, col, last_col))
        return Blocks(~some, every)

    def lengths(self, shape: Shape) -> Tensor | None:
        """How many leading keys matter to each sequence, [B]; None where the mask sets no limit.

        Exact for padding; for composed masks the tightest bound that their parts give.
        """
        self._check(shape)
        return self._lengths(shape)

    def select(self, rows: Tensor) -> Mask:
        """Keep, repeat or reorder the sequences of the batch."""
        return self._map(lambda leaf: leaf._select(rows))

    def embed(self, before: int, size: int, after: int) -> Mask:
        """The same mask on a longer memory: it speaks of keys ``before`` to ``before + size``, the others are free."""
        return self._embed(before, size, after, free=True)

    def to(self, device: torch.device | str) -> Mask:
        """The mask with its tensors on ``device``."""
        return self._map(lambda leaf: leaf._to(device))

    def draw(self, queries: int, keys: int) -> str:
        """A picture of the first sequence and head: ■ may attend, □ may not."""
        pairs = self.allowed((self._batch() or 1, self._heads() or 1, queries, keys))[0, 0].expand(queries, keys)
        return "\n".join(" ".join("■" if pair else "□" for pair in row) for row in pairs.tolist())

    def __hash__(self) -> int:
        return hash(repr(self))

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...

    @abc.abstractmethod
    def _check(self, shape: Shape) -> None: ...

    @abc.abstractmethod
    def _allowed(self, grid: _Grid) -> Tensor: ...

    @abc.abstractmethod
    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        """(some pair of the block may be attended, every pair may be): an upper and a lower bound."""

    @abc.abstractmethod
    def _lengths(self, shape: Shape) -> Tensor | None: ...

    @abc.abstractmethod
    def _embed(self, before: int, size: int, after: int, *, free: bool) -> Mask: ...

    @abc.abstractmethod
    def _leaves(self) -> tuple[_Leaf, ...]: ...

    @abc.abstractmethod
    def _map(self, change: Callable[[_Leaf], Mask]) -> Mask: ...

    def _device(self) -> torch.device | None:
        return next((leaf.tensor.device for leaf in self._leaves() if leaf.tensor is not None), None)

    def _batch(self) -> int | None:
        return next((leaf.sizes[0] for leaf in self._leaves() if leaf.sizes[0] > 1), None)

    def _heads(self) -> int | None:
        return next((leaf.sizes[1] for leaf in self._leaves() if leaf.sizes[1] > 1), None)


class _Leaf(Mask):
    """A mask that is not composed of others."""

    tensor: Tensor | None = None
    sizes: tuple[int, int] = (1, 1)

    def _leaves(self) -> tuple[_Leaf, ...]:
        return (self,)

    def _map(self, change: Callable[[_Leaf], Mask]) -> Mask:
        return change(self)

    def _select(self, rows: Tensor) -> Mask:
        return self

    def _to(self, device: torch.device | str) -> Mask:
        return self


class _Padding(_Leaf):
    def __init__(self, lengths: Tensor, longest: int) -> None:
        self.tensor = lengths
        self.sizes = (lengths.shape[0], 1)
        self._lens = lengths
        self._longest = longest  # kept as a number: asking a GPU for it at every call would make the CPU wait

    def __repr__(self) -> str:
        return f"Mask.padding({self._lens.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Padding) and torch.equal(self._lens.cpu(), other._lens.cpu())

    __hash__ = Mask.__hash__

    def _check(self, shape: Shape) -> None:
        batch, _, _, keys = shape
        if self.sizes[0] not in (1, batch):
            raise MaskShapeError(
                f"a padding mask for {self.sizes[0]} sequences does not fit scores of shape {list(shape)} (B={batch})"
            )
        if self._longest > keys:
            raise MaskShapeError(
                f"padding lengths up to {self._longest} do not fit scores of shape {list(shape)} (S={keys})"
            )

    def _allowed(self, grid: _Grid) -> Tensor:
        return (grid.cols < self._lens.unsqueeze(1))[:, None, None, :]

    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        lengths = self._lens[:, None, None, None]
        return (edges.first_key < lengths), (edges.last_key < lengths)

    def _lengths(self, shape: Shape) -> Tensor | None:
        return self._lens.expand(shape[0])

    def _embed(self, before: int, size: int, after: int, *, free: bool) -> Mask:
        keys = torch.arange(before + size + after, device=self._lens.device) - before
        outside = (keys < 0) | (keys >= size)
        inside = keys < self._lens.unsqueeze(1)
        return _Dense((outside if free else torch.zeros_like(outside)) | (inside & ~outside)[:, None, None, :])

    def _select(self, rows: Tensor) -> Mask:
        return self if self.sizes[0] == 1 else _Padding(self._lens.index_select(0, rows), self._longest)

    def _to(self, device: torch.device | str) -> Mask:
        return self if self._lens.device == torch.device(device) else _Padding(self._lens.to(device), self._longest)


class _Window(_Leaf):
    """Keys in (place + ahead - width, place + ahead]; no width: all keys up to place + ahead."""

    def __init__(self, width: int | None, ahead: int) -> None:
        self._width = width
        self._ahead = ahead

    def __repr__(self) -> str:
        if self._width is None:
            return "Mask.causal()"
        return f"Mask.window({self._width}{f', ahead={self._ahead}' if self._ahead else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Window) and (self._width, self._ahead) == (other._width, other._ahead)

    __hash__ = Mask.__hash__

    def _check(self, shape: Shape) -> None:
        pass

    def _allowed(self, grid: _Grid) -> Tensor:
        last = (grid.places + self._ahead).unsqueeze(1)
        inside = grid.cols <= last
        if self._width is not None:
            inside = inside & (grid.cols > last - self._width)
        return inside[None, None]

    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        first, last = edges.first_place + self._ahead, edges.last_place + self._ahead
        some, every = edges.first_key <= last, edges.last_key <= first
        if self._width is not None:
            some = some & (edges.last_key > first - self._width)
            every = every & (edges.first_key > last - self._width)
        return some[None, None], every[None, None]

    def _lengths(self, shape: Shape) -> Tensor | None:
        return None

    def _embed(self, before: int, size: int, after: int, *, free: bool) -> Mask:
        return self


class _Dense(_Leaf):
    def __init__(self, allowed: Tensor) -> None:
        self.tensor = allowed
        self.sizes = (allowed.shape[0], allowed.shape[1])
        self._pairs = allowed

    def __repr__(self) -> str:
        return f"Mask.of(<{'x'.join(map(str, self._pairs.shape))}, {int(self._pairs.sum())} allowed>)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dense) and torch.equal(self._pairs.cpu(), other._pairs.cpu())

    __hash__ = Mask.__hash__

    def _check(self, shape: Shape) -> None:
        mine = tuple(self._pairs.shape)
        if any(a not in (1, b) for a, b in zip(mine, shape, strict=True)):
            hint = ""
            if mine[:2] == (1, 1) and mine[2] == shape[0] and mine[3] == shape[3]:
                hint = "; for one row of keys a sequence, write Mask.of(allowed[:, None, :])"
            raise MaskShapeError(f"a mask of shape {list(mine)} does not fit scores of shape {list(shape)}{hint}")

    def _allowed(self, grid: _Grid) -> Tensor:
        pairs = self._pairs
        if pairs.shape[2] > 1:
            pairs = pairs.index_select(2, grid.rows)
        if pairs.shape[3] > 1:
            pairs = pairs.index_select(3, grid.cols)
        return pairs

    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        _, _, queries, keys = edges.shape
        pairs = self._pairs.expand(-1, -1, queries, keys)
        spare = (0, -keys % edges.block[1], 0, -queries % edges.block[0])

        def tiles(fill: bool) -> Tensor:
            padded = torch.nn.functional.pad(pairs, spare, value=fill)
            height, width = edges.block
            return padded.reshape(*pairs.shape[:2], -1, height, padded.shape[3] // width, width)

        return tiles(False).any(5).any(3), tiles(True).all(5).all(3)

    def _lengths(self, shape: Shape) -> Tensor | None:
        reachable = self._pairs.any(2).any(1).expand(shape[0], shape[3])
        places = torch.arange(1, shape[3] + 1, device=reachable.device)
        return (reachable * places).amax(1) if shape[3] else places.new_zeros(shape[0])

    def _embed(self, before: int, size: int, after: int, *, free: bool) -> Mask:
        if self._pairs.shape[2] > 1:
            raise MaskShapeError(
                f"a mask of shape {list(self._pairs.shape)} differs by query: it cannot follow a growing memory"
            )
        pairs = self._pairs.expand(-1, -1, -1, size)
        return _Dense(torch.nn.functional.pad(pairs, (before, after), value=free))

    def _select(self, rows: Tensor) -> Mask:
        return self if self.sizes[0] == 1 else _Dense(self._pairs.index_select(0, rows))

    def _to(self, device: torch.device | str) -> Mask:
        return self if self._pairs.device == torch.device(device) else _Dense(self._pairs.to(device))


class _Pair(Mask):
    """Two masks and a boolean operator between them."""

    sign: str

    def __init__(self, left: Mask, right: Mask) -> None:
        self.left = left
        self.right = right

    def __repr__(self) -> str:
        sides = (
            f"({side!r})" if isinstance(side, _Pair) and side.sign != self.sign else repr(side)
            for side in self._sides()
        )
        return f" {self.sign} ".join(sides)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._sides() == other._sides()

    __hash__ = Mask.__hash__

    def _sides(self) -> tuple[Mask, Mask]:
        return self.left, self.right

    def _check(self, shape: Shape) -> None:
        self.left._check(shape)
        self.right._check(shape)

    def _leaves(self) -> tuple[_Leaf, ...]:
        return self.left._leaves() + self.right._leaves()

    def _map(self, change: Callable[[_Leaf], Mask]) -> Mask:
        return type(self)(self.left._map(change), self.right._map(change))

    def _embed(self, before: int, size: int, after: int, *, free: bool) -> Mask:
        return type(self)(*(side._embed(before, size, after, free=free) for side in self._sides()))


class _Both(_Pair):
    sign = "&"

    def _allowed(self, grid: _Grid) -> Tensor:
        return self.left._allowed(grid) & self.right._allowed(grid)

    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        (some_left, every_left), (some_right, every_right) = (
            self.left._bounds(edges),
            self.right._bounds(edges),
        )
        return some_left & some_right, every_left & every_right

    def _lengths(self, shape: Shape) -> Tensor | None:
        left, right = self.left._lengths(shape), self.right._lengths(shape)
        return left if right is None else right if left is None else torch.minimum(left, right)


class _Either(_Pair):
    sign = "|"

    def _allowed(self, grid: _Grid) -> Tensor:
        return self.left._allowed(grid) | self.right._allowed(grid)

    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        (some_left, every_left), (some_right, every_right) = (
            self.left._bounds(edges),
            self.right._bounds(edges),
        )
        return some_left | some_right, every_left | every_right

    def _lengths(self, shape: Shape) -> Tensor | None:
        left, right = self.left._lengths(shape), self.right._lengths(shape)
        return None if left is None or right is None else torch.maximum(left, right)


class _Not(Mask):
    def __init__(self, inner: Mask) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"~({self.inner!r})" if isinstance(self.inner, _Pair) else f"~{self.inner!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Not) and self.inner == other.inner

    __hash__ = Mask.__hash__

    def __invert__(self) -> Mask:
        return self.inner

    def _check(self, shape: Shape) -> None:
        self.inner._check(shape)

    def _allowed(self, grid: _Grid) -> Tensor:
        return ~self.inner._allowed(grid)

    def _bounds(self, edges: _Edges) -> tuple[Tensor, Tensor]:
        some, every = self.inner._bounds(edges)
        return ~every, ~some

    def _lengths(self, shape: Shape) -> Tensor | None:
        return None

    def _embed(self, before: int, size: int, after: int, *, free: bool) -> Mask:
        return _Not(self.inner._embed(before, size, after, free=not free))

    def _leaves(self) -> tuple[_Leaf, ...]:
        return self.inner._leaves()

    def _map(self, change: Callable[[_Leaf], Mask]) -> Mask:
        return _Not(self.inner._map(change))
