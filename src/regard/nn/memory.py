"""Memories: keys to match, values to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from regard.masks import Mask
from regard.memo import Memo


@dataclass(frozen=True, eq=False)
class Memory(Memo):
    """A memory as a reader sees it: keys projected once, values, and what may be attended.

    Read-only as it stands (encoder states). `append` returns a longer one: the growing memory of a decoder that
    attends to its own past, a KV cache. Without gradient there is room behind the entries, so that one more is written
    and not all copied; a memory that was appended to stays what it was. One that is written to is `regard.nn.NTMMemory`.

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
        """S, how many entries it holds, padding included."""
        return self.key.shape[2]

    @property
    def lengths(self) -> Tensor:
        """[B], the true lengths: what the padding leaves of S."""
        batch, _, size, _ = self.key.shape
        lengths = None if self.mask is None else self.mask.to(self.key.device).lengths(batch, size)
        return torch.full((batch,), size, device=self.key.device) if lengths is None else lengths

    @cached_property
    def bias(self) -> Tensor | None:
        """[B * H, 1, S], what the mask adds to the energies of one query: 0 or -inf; None without a mask."""
        if self.mask is None:
            return None
        batch, heads, size, _ = self.key.shape
        allowed = self.mask.allowed((batch, heads, 1, size), device=self.key.device)
        return self.key.new_zeros(batch, heads, 1, size).masked_fill(~allowed, -torch.inf).flatten(0, 1)

    def row(self, index: int, queries: int) -> Memory:
        """The memory as query `index` of `queries` may see it, for reading it alone."""
        return self if self.mask is None else Memory(self.key, self.value, self.mask.row(index, queries))

    def append(self, more: Memory) -> Memory:
        """This memory with `more` behind it. Masks go along: each speaks of its own part."""
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
        """Keep, repeat or reorder the sequences of the batch; `rows`: [B'] indices."""
        mask = None if self.mask is None else self.mask.select(rows)
        if self._room is None:
            return Memory(self.key.index_select(0, rows), self.value.index_select(0, rows), mask)
        room = self._room.select(rows, self.size)
        return Memory(*room.entries(), mask, room)


class _KeyValueBuffer:
    """Keys and values with free places behind them.

    Of all memories that share it only the longest may write, into what none of them sees: so a memory never changes.

    Attributes:
        used: how many places are taken.
    """

    def __init__(self, key: Tensor, value: Tensor, used: int) -> None:
        self._key = key
        self._value = value
        self.used = used

    @staticmethod
    def of(key: Tensor, value: Tensor, more: int) -> _KeyValueBuffer:
        """A copy of keys and values with room for `more` entries, and for some after them."""
        size = key.shape[2]
        places = size + more + max(_SPARE, size // 4)
        room = _KeyValueBuffer(_empty(key, places), _empty(value, places), 0)
        room.write(key, value)
        return room

    def fits(self, size: int, more: int) -> bool:
        """Return whether a memory of `size` entries may write `more` here."""
        return self.used == size and size + more <= self._key.shape[2]

    def write(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Put entries behind those that there are; gives all."""
        begin, self.used = self.used, self.used + key.shape[2]
        self._key.narrow(2, begin, key.shape[2]).copy_(key)
        self._value.narrow(2, begin, value.shape[2]).copy_(value)
        return self.entries()

    def entries(self) -> tuple[Tensor, Tensor]:
        """The keys and values in the places that are taken."""
        return self._key.narrow(2, 0, self.used), self._value.narrow(2, 0, self.used)

    def select(self, rows: Tensor, size: int) -> _KeyValueBuffer:
        """A copy of these rows, with the first `size` places taken."""
        return _KeyValueBuffer(_rows(self._key, rows), _rows(self._value, rows), size)


_SPARE = 8


def _empty(like: Tensor, places: int) -> Tensor:
    """[B, H, places, D], where all heads of an entry lie together: it is written, and moved, in one piece."""
    batch, heads, _, width = like.shape
    return like.new_empty(batch, places, heads, width).transpose(1, 2)  # [B, H, places, D]


def _rows(entries: Tensor, rows: Tensor) -> Tensor:
    """Those rows, laid out in the same way."""
    return entries.transpose(1, 2).index_select(0, rows).transpose(1, 2)  # [B', H, S, D]
