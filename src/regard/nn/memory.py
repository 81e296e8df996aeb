"""What is read: keys to find by, values to take away."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.masks import Mask


@dataclass(frozen=True, eq=False)
class Memory:
    """A memory as a reader sees it: keys projected once, values, and what may be attended.

    Read-only as it stands (encoder states). `append` returns a longer one: the growing memory of a decoder that
    attends to its own past, a KV cache. A memory that is written to is `regard.nn.Tape`.

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

    def row(self, index: int, queries: int) -> Memory:
        """The memory as query `index` of `queries` may see it, for reading it alone."""
        return self if self.mask is None else Memory(self.key, self.value, self.mask.row(index, queries))

    def append(self, more: Memory) -> Memory:
        """This memory with `more` behind it. Masks go along: each speaks of its own part."""
        mine = None if self.mask is None else self.mask.embed(0, self.size, more.size)
        theirs = None if more.mask is None else more.mask.embed(self.size, more.size, 0)
        mask = mine if theirs is None else theirs if mine is None else mine & theirs
        return Memory(torch.cat((self.key, more.key), 2), torch.cat((self.value, more.value), 2), mask)

    def select(self, rows: Tensor) -> Memory:
        """Keep, repeat or reorder the sequences of the batch; `rows`: [B'] indices."""
        mask = None if self.mask is None else self.mask.select(rows)
        return Memory(self.key.index_select(0, rows), self.value.index_select(0, rows), mask)
