"""Memory: projected keys and values with a mask."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from regard.masks import Mask
from regard.memo import Memo


@dataclass(frozen=True, eq=False)
class Memory(Memo):
    """Projected keys and values, and a mask.

    Immutable (encoder states). `append` returns a longer memory: the KV cache of a decoder that attends to its own
    past. Without gradients both share one buffer with spare capacity, so that an entry is written in place and nothing
    is copied; the shorter memory stays valid. The writable one is `regard.nn.NTMMemory`.

    Attributes:
        key: [B, H, S, D], projected.
        value: [B, H, S, Dv], projected.
        mask: what may be attended; None for everything.

    >>> memory = Memory(torch.zeros(2, 1, 3, 4), torch.zeros(2, 1, 3, 5), Mask.padding([1, 3]))
    >>> memory.size, memory.lengths.tolist()
    (3, [1, 3])
    >>> longer = memory.append(Memory(torch.zeros(2, 1, 1, 4), torch.zeros(2, 1, 1, 5)))
    >>> print(longer.mask.draw(1, 4))
    ■ □ □ ■
    """

    key: Tensor
    value: Tensor
    mask: Mask | None = None
    _room: _KeyValueBuffer | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Number of entries S, including padding."""
        return self.key.shape[2]

    @property
    def lengths(self) -> Tensor:
        """True lengths [B], without padding."""
        batch, _, size, _ = self.key.shape
        lengths = None if self.mask is None else self.mask.to(self.key.device).lengths(batch, size)
        return torch.full((batch,), size, device=self.key.device) if lengths is None else lengths

    @cached_property
    def bias(self) -> Tensor | None:
        """Additive mask [B * H, 1, S] for one query: 0 or -inf; None without a mask."""
        if self.mask is None:
            return None
        batch, heads, size, _ = self.key.shape
        allowed = self.mask.allowed((batch, heads, 1, size), device=self.key.device)
        return self.key.new_zeros(batch, heads, 1, size).masked_fill(~allowed, -torch.inf).flatten(0, 1)

    def row(self, index: int, queries: int) -> Memory:
        """Return the memory with the mask of query `index` out of `queries`, for reading it alone."""
        return self if self.mask is None else Memory(self.key, self.value, self.mask.row(index, queries))

    def append(self, more: Memory) -> Memory:
        """Return this memory followed by `more`; each mask applies to its own part."""
        mine = None if self.mask is None else self.mask.embed(0, self.size, more.size)
        theirs = None if more.mask is None else more.mask.embed(self.size, more.size, 0)
        mask = mine if theirs is None else theirs if mine is None else mine & theirs
        if torch.is_grad_enabled():
            return Memory(torch.cat((self.key, more.key), 2), torch.cat((self.value, more.value), 2), mask)
        room = self._room
        if room is None or not room.fits(self.size, more.size):
            room = _KeyValueBuffer.of(self.key, self.value, more.size)
        return Memory(*room.write(more.key, more.value), mask, room)

    def select(self, rows: Tensor) -> Memory:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        mask = None if self.mask is None else self.mask.select(rows)
        if self._room is None:
            return Memory(self.key.index_select(0, rows), self.value.index_select(0, rows), mask)
        room = self._room.select(rows, self.size)
        return Memory(*room.entries(), mask, room)


class _KeyValueBuffer:
    """Buffer of keys and values with spare capacity.

    Among the memories that share a buffer only the longest may write, beyond the entries of all: no memory changes.

    Attributes:
        used: number of entries in use.
    """

    def __init__(self, key: Tensor, value: Tensor, used: int) -> None:
        self._key = key
        self._value = value
        self.used = used

    @staticmethod
    def of(key: Tensor, value: Tensor, more: int) -> _KeyValueBuffer:
        """Copy keys and values into a buffer with capacity for `more` and further entries."""
        size = key.shape[2]
        places = size + more + max(_SPARE, size // 4)
        room = _KeyValueBuffer(_empty(key, places), _empty(value, places), 0)
        room.write(key, value)
        return room

    def fits(self, size: int, more: int) -> bool:
        """Return whether a memory of `size` entries may write `more` here."""
        return self.used == size and size + more <= self._key.shape[2]

    def write(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write entries after the existing ones; return all."""
        begin, self.used = self.used, self.used + key.shape[2]
        self._key.narrow(2, begin, key.shape[2]).copy_(key)
        self._value.narrow(2, begin, value.shape[2]).copy_(value)
        return self.entries()

    def entries(self) -> tuple[Tensor, Tensor]:
        """Return the keys and values in use."""
        return self._key.narrow(2, 0, self.used), self._value.narrow(2, 0, self.used)

    def select(self, rows: Tensor, size: int) -> _KeyValueBuffer:
        """Copy some rows, with the first `size` entries in use."""
        return _KeyValueBuffer(_rows(self._key, rows), _rows(self._value, rows), size)


_SPARE = 8


def _empty(like: Tensor, places: int) -> Tensor:
    """Allocate [B, H, capacity, D] with the heads of an entry adjacent in memory, to write it in one piece."""
    batch, heads, _, width = like.shape
    return like.new_empty(batch, places, heads, width).transpose(1, 2)  # [B, H, places, D]


def _rows(entries: Tensor, rows: Tensor) -> Tensor:
    """Select rows and keep the memory layout."""
    return entries.transpose(1, 2).index_select(0, rows).transpose(1, 2)  # [B', H, S, D]
