"""Masks: the keys that each query may attend to.

One polarity in the whole library: **True means "may attend"**. A mask is an expression, built from four leaves and
composed with `&`, `|` and `~`; it stays symbolic until a shape is known, so that an implementation can skip blocks that
it rules out instead of computing and discarding them.

Sizes: batch B, heads H, queries T, keys S. Query i has position i + S - T on the key axis: masks are aligned to the
*end*, so that the last query sees the last key whether or not earlier keys come from a cache.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks.composed import Either, Not, conjuncts, intersection
from regard.masks.leaves import Dense, Padding, Window
from regard.masks.node import BlockEdges, Grid, MaskShapeError, Node, Shape
from regard.memo import Memo


class MaskBlocks(NamedTuple):
    """Blocks of `block[0]` queries by `block[1]` keys under a mask, as booleans [B or 1, H or 1, t, s].

    Both are conservative: a block of a composed mask may be in neither, although it is empty or full.

    Attributes:
        ruled_out: no pair of the block may attend, so a kernel skips it.
        full: all pairs of the block may attend, so a kernel needs no mask there.
    """

    ruled_out: Tensor
    full: Tensor


class MaskSpans(NamedTuple):
    """Decomposition of a mask for a kernel: bounds by arithmetic, and the rest. A pair must satisfy all parts.

    Attributes:
        lengths: [B], number of valid keys; None for no limit.
        first: only keys after position + first; None for no limit.
        last: only keys up to and including position + last; None for no limit.
        rest: remaining mask; None without one.
    """

    lengths: Tensor | None
    first: int | None
    last: int | None
    rest: Mask | None


class Mask(Memo):
    """Pairs that may attend: an immutable boolean expression over (batch, head, query, key).

    >>> mask = Mask.padding([2, 3]) & Mask.causal()
    >>> mask
    Mask.padding([2, 3]) & Mask.causal()
    >>> mask.allowed((2, 1, 3, 3))[0, 0].int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    >>> print(Mask.causal().draw(2, 4))
    ■ ■ ■ □
    ■ ■ ■ ■
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    @staticmethod
    def padding(lengths: Tensor | Sequence[int]) -> Mask:
        """Mask keys at and after `lengths[b]` as padding. `lengths`: [B] integers, not checked during graph capture."""
        # A copy, where they lie: a mask does not change when its lengths do.
        lengths = lengths.clone() if isinstance(lengths, Tensor) else torch.as_tensor(lengths)
        if lengths.dim() != 1 or lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
            raise MaskShapeError(
                f"padding needs one integer a sequence, shape [B]; got {lengths.dtype} of shape {list(lengths.shape)}"
            )
        if lengths.numel() == 0:
            return Mask(Padding(lengths, 0))
        if is_recording():
            return Mask(Padding(lengths, None))
        shortest, longest = torch.stack(lengths.aminmax()).tolist()
        if shortest < 0:
            raise ValueError(f"padding needs lengths of at least 0; got {shortest}")
        return Mask(Padding(lengths, longest, some=shortest > 0))

    @staticmethod
    def causal() -> Mask:
        """Each query sees the keys up to its own position: j <= i + S - T."""
        return Mask(Window(None, 0))

    @staticmethod
    def window(width: int, *, ahead: int = 0) -> Mask:
        """Each query sees exactly `width` keys (fewer at the ends), `ahead` of which follow its own position.

        `Mask.window(W)` is causal: W keys, the last one the query's own. `Mask.window(2 * D + 1, ahead=D)` is centred
        on the query.
        """
        if width < 1 or not 0 <= ahead < width:
            raise ValueError(f"a window needs width >= 1 and 0 <= ahead < width; got width={width}, ahead={ahead}")
        return Mask(Window(width, ahead))

    @staticmethod
    def of(allowed: Tensor) -> Mask:
        """Wrap a boolean tensor, True = may attend: [S], [T, S], [B, T, S] or [B, H, T, S]; any size may be 1.

        For one row of keys per sequence, as tokenizers return it, use `Mask.keys(allowed)`.
        """
        _boolean("Mask.of", allowed)
        if not 1 <= allowed.dim() <= 4:
            raise MaskShapeError(f"a mask has 1 to 4 dimensions ([B, H, T, S]); got shape {list(allowed.shape)}")
        if allowed.dim() == 3:
            allowed = allowed.unsqueeze(1)
        return Mask(Dense(allowed.reshape((1,) * (4 - allowed.dim()) + tuple(allowed.shape)).clone()))

    @staticmethod
    def keys(allowed: Tensor) -> Mask:
        """Wrap booleans [B, S], True for keys that may be attended, such as the attention mask of a tokenizer.

        >>> Mask.keys(torch.tensor([[True, True, False], [True, True, True]])).lengths(2, 3)
        tensor([2, 3])
        """
        _boolean("Mask.keys", allowed)
        if allowed.dim() != 2:
            raise MaskShapeError(f"Mask.keys takes one row of keys a sequence, [B, S]; got shape {list(allowed.shape)}")
        return Mask(Dense(allowed[:, None, None, :].clone()))

    @staticmethod
    def check(mask: object) -> None:
        """Raise TypeError unless the argument is a mask or None."""
        if mask is not None and not isinstance(mask, Mask):
            raise TypeError(
                f"a mask must be a regard.Mask, not {type(mask).__name__}; write Mask.padding(lengths), or "
                "Mask.keys(allowed) for booleans [B, S]"
            )

    def __bool__(self) -> bool:
        raise TypeError("a mask is neither true nor false; combine masks with &, | and ~, not with and, or, not")

    def __and__(self, other: Mask) -> Mask:
        Mask.check(other)
        return Mask(intersection(self._node, other._node))

    def __or__(self, other: Mask) -> Mask:
        Mask.check(other)
        return Mask(Either(self._node, other._node))

    def __invert__(self) -> Mask:
        return Mask(self._node.inner if isinstance(self._node, Not) else Not(self._node))

    def __repr__(self) -> str:
        return repr(self._node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mask) and self._node == other._node

    def __hash__(self) -> int:
        return hash(repr(self._node))

    def allowed(
        self,
        shape: Shape,
        *,
        heads: Tensor | None = None,
        rows: Tensor | None = None,
        cols: Tensor | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """Return the mask as booleans, broadcastable to scores of `shape` [B, H, T, S].

        With indices `heads`, `rows` and `cols`, only that tile is computed, not the whole matrix.
        """
        self._node.check(shape)
        device = self._device() if device is None else torch.device(device)
        allowed = self._node.to(device).allowed(Grid(shape, device, rows, cols))
        return allowed if heads is None or allowed.shape[1] == 1 else allowed.index_select(1, heads)

    def forbidden(self, shape: Shape, *, device: torch.device) -> Tensor:
        """Return the complement of `allowed`, with one operation less for padding."""
        self._node.check(shape)
        return self._node.to(device).forbidden(Grid(shape, device))

    def blocks(self, shape: Shape, block: tuple[int, int], *, device: torch.device | None = None) -> MaskBlocks:
        """Return the blocks of `block[0]` queries by `block[1]` keys that are ruled out, and those that are full."""
        self._node.check(shape)
        _, _, queries, keys = shape
        device, shift = device or self._device(), keys - queries
        row = torch.arange(0, queries, block[0], device=device).unsqueeze(1)
        col = torch.arange(0, keys, block[1], device=device).unsqueeze(0)
        last_row = (row + block[0]).clamp(max=queries) - 1
        last_col = (col + block[1]).clamp(max=keys) - 1
        edges = BlockEdges(shape, block, row + shift, last_row + shift, col, last_col)
        some, every = self._node.to(device).bounds(edges)
        size = (-1, -1, row.shape[0], col.shape[1])
        return MaskBlocks(~some.expand(size), every.expand(size))

    def spans(self, shape: Shape) -> MaskSpans:
        """Decompose the mask into lengths, a window around the position of each query, and a remaining mask.

        >>> mask = Mask.causal() & Mask.window(3, ahead=1) & Mask.of(torch.tensor([True, False]))
        >>> mask.spans((1, 1, 2, 2))
        MaskSpans(lengths=None, first=-2, last=0, rest=Mask.of(<1x1x1x2, 1 allowed>))
        """
        self._node.check(shape)
        parts = conjuncts(self._node)
        lengths = [part.lengths(shape[0], shape[3]) for part in parts if isinstance(part, Padding)]
        windows = [part for part in parts if isinstance(part, Window)]
        others = [part for part in parts if not isinstance(part, Padding | Window)]
        return MaskSpans(
            functools.reduce(torch.minimum, lengths) if lengths else None,
            max((part.first for part in windows if part.first is not None), default=None),
            min((part.last for part in windows), default=None),
            Mask(functools.reduce(intersection, others)) if others else None,
        )

    def lengths(self, batch: int, keys: int) -> Tensor | None:
        """Return the number of leading keys, out of `keys`, that each sequence can attend, [B]; None for all.

        Exact for padding; for composed masks the tightest bound of their parts.
        """
        return self._node.to(self._device()).lengths(batch, keys)

    def true_lengths(self, batch: int, keys: int) -> Tensor:
        """Return `lengths` of a pure padding mask; raise for any other, for mechanisms that need true ends.

        During graph capture and compilation boolean tensors cannot be inspected and are trusted.
        """
        lengths = self.lengths(batch, keys)
        if lengths is None or self.by_position or not self._is_padding(batch, keys, lengths):
            raise MaskShapeError(f"only padding fits here, Mask.padding(lengths); got {self!r}")
        return lengths

    def _is_padding(self, batch: int, keys: int, lengths: Tensor) -> bool:
        """Return whether the mask allows the keys before these lengths and no others."""
        shape = (batch, 1, 1, keys)
        if is_recording() or all(isinstance(part, Padding) for part in conjuncts(self._node)):
            self._node.check(shape)
            return True
        positions = torch.arange(keys, device=self._device())
        return bool((self.allowed(shape)[:, 0, 0] == (positions < lengths[:, None])).all())

    def serves_every_query(self, shape: Shape) -> bool:
        """Return whether every query is known to have a key; False where only the dense mask would tell.

        Known for padding without empty sequences, for causal masks, for both together, and for a window alone.

        >>> (Mask.padding([2, 3]) & Mask.causal()).serves_every_query((2, 1, 3, 3))
        True
        >>> Mask.padding([0, 3]).serves_every_query((2, 1, 3, 3))
        False
        """
        _, _, queries, keys = shape
        parts = conjuncts(self._node)
        windows = [part for part in parts if isinstance(part, Window)]
        if (queries > keys and windows) or any(part.last < 0 for part in windows):
            return False
        if len(parts) == 1 and windows:
            return keys > 0
        return all(
            (isinstance(part, Padding) and part.some) or (isinstance(part, Window) and part.first is None)
            for part in parts
        )

    @property
    def by_position(self) -> bool:
        """True if the mask depends on the position of a query, as causal masks and windows do."""
        return self._node.by_position

    def row(self, index: int, queries: int) -> Mask:
        """Return the mask of query `index` out of `queries`, for reading it alone.

        >>> print(Mask.causal().draw(3, 4), Mask.causal().row(1, 3).draw(1, 4), sep="\\n\\n")
        ■ ■ □ □
        ■ ■ ■ □
        ■ ■ ■ ■
        <BLANKLINE>
        ■ ■ ■ □
        """
        return Mask(self._node.row(index, queries))

    def select(self, rows: Tensor) -> Mask:
        """Keep, repeat or reorder the sequences of the batch."""
        return Mask(self._node.select(rows))

    def embed(self, before: int, size: int, after: int) -> Mask:
        """Embed the mask in a longer memory: it applies to keys `before` to `before + size`; other keys are allowed.

        Causal and window masks depend on positions alone and stay as they are, aligned to the new end.
        """
        return Mask(self._node.embed(before, size, after, free=True))

    def to(self, device: torch.device | str) -> Mask:
        """Move the tensors of the mask to `device`."""
        return Mask(self._node.to(torch.device(device)))

    def draw(self, queries: int, keys: int) -> str:
        """Draw the first sequence and head: ■ may attend, □ may not."""
        batch = max((tensor.shape[0] for tensor in self._node.tensors()), default=1)
        heads = max((tensor.shape[1] for tensor in self._node.tensors() if tensor.dim() == 4), default=1)
        pairs = self.allowed((batch, heads, queries, keys))[0, 0].expand(queries, keys)
        return "\n".join(" ".join("■" if pair else "□" for pair in row) for row in pairs.tolist())

    def _device(self) -> torch.device:
        return next((tensor.device for tensor in self._node.tensors()), torch.device("cpu"))


def _boolean(name: str, allowed: Tensor) -> None:
    if not isinstance(allowed, Tensor) or allowed.dtype != torch.bool:
        given = allowed.dtype if isinstance(allowed, Tensor) else type(allowed).__name__
        raise TypeError(
            f"{name} takes a boolean tensor where True means 'may attend', not {given}; "
            "convert it yourself, so that the polarity is in your hands"
        )
