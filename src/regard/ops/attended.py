"""What comes back from a read: the context, and the weights on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from regard.ops.hard import Sample

Index = slice | Sequence[int] | int | None
Weigh = Callable[[Tensor, Tensor], Tensor]
"""(head indices [h], query indices [t]) -> weights [B, h, t, S]."""

_TILE = 1 << 22  # weights held at once while reducing over rows: 16 MiB in float32


class TopK(NamedTuple):
    """The k largest weights of each query and the keys they lie on, both [B, (H,) T, k], largest first."""

    weights: Tensor
    keys: Tensor


class Attended:
    """The outcome of a read.

    The context is there; the weights are *exact* and made when they are asked for: taken from the tensor where
    the implementation made one, rebuilt row by row from queries, keys and log-sum-exp where it was fused. So a
    fused path stays fused, and a reduction (`topk`, `entropy`, ...) never holds the whole matrix.

    Attributes:
        context: [B, H, T, Dv] from an op, [B, T, C] from a module.
        state: what the next step needs (see `regard.nn.State`); None from ops.
        sample: the drawn positions with their log-probability, from hard attention only.

    >>> import torch
    >>> from regard.ops import scaled_dot_attention
    >>> query, key = torch.tensor([[8.0, 0.0]]), torch.tensor([[14.0, 0.0], [12.0, 0.0]])
    >>> out = scaled_dot_attention(query[None, None], key[None, None], key[None, None], scale=1 / 8)
    >>> out.weights()[0, 0]                     # the worked example of the notes: scores 112 and 96, over 8
    tensor([[0.88, 0.12]])
    >>> out.alignment()
    tensor([[[0]]])
    """

    def __init__(
        self,
        context: Tensor,
        weigh: Weigh,
        shape: tuple[int, int, int, int],
        *,
        has_heads: bool = True,
        state: Any = None,
        sample: Sample | None = None,
    ) -> None:
        self.context = context
        self.state = state
        self.sample = sample
        self._weigh = weigh
        self._shape = shape
        self._has_heads = has_heads

    @classmethod
    def from_weights(cls, context: Tensor, weights: Tensor, *, has_heads: bool = True, **rest: Any) -> Attended:
        """A read whose weights [B, H, T, S] were made on the way."""
        batch, heads, queries, keys = weights.shape

        def weigh(head: Tensor, row: Tensor) -> Tensor:
            return weights.index_select(1, head).index_select(2, row)

        return cls(context, weigh, (batch, heads, queries, keys), has_heads=has_heads, **rest)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """[B, H, T, S] of the weights, H = 1 for a module without heads."""
        return self._shape

    def replace(self, *, context: Tensor, has_heads: bool, state: Any) -> Attended:
        """The same read with its context laid out anew: how a module turns an op's outcome into its own."""
        return Attended(context, self._weigh, self._shape, has_heads=has_heads, state=state, sample=self.sample)

    def weights(self, *, rows: Index = None, heads: Index = None) -> Tensor:
        """The attention weights, [B, H, T, S]; [B, T, S] from a module without heads. Differentiable.

        Args:
            rows: the queries wanted: a slice, indices or one index (the axis stays); None for all.
            heads: likewise for the heads.
        """
        _, num_heads, queries, _ = self._shape
        return self._squeeze(self._weigh(self._indices(heads, num_heads), self._indices(rows, queries)))

    def topk(self, k: int, *, rows: Index = None) -> TopK:
        """The k largest weights of each query, with their keys."""
        keys = self._shape[3]
        if not 1 <= k <= keys:
            raise ValueError(f"topk({k}): there are {keys} keys to choose from")
        parts = [tile.topk(k, dim=-1) for tile in self._tiles(rows)]
        return TopK(*(self._squeeze(torch.cat([part[i] for part in parts], dim=2)) for i in (0, 1)))

    def entropy(self, *, rows: Index = None) -> Tensor:
        """-sum_s a_s log a_s of each query in nats, [B, (H,) T]: 0 looks at one key, log S at all alike."""
        parts = [torch.special.entr(tile).sum(-1) for tile in self._tiles(rows)]
        return self._squeeze(torch.cat(parts, dim=2))

    def alignment(self, *, rows: Index = None) -> Tensor:
        """The key with the largest weight for each query, [B, (H,) T]; -1 where nothing may be attended."""
        if self._shape[3] == 0:
            count = len(self._indices(rows, self._shape[2]))
            return self._squeeze(self.context.new_full((*self._shape[:2], count), -1, dtype=torch.long))
        parts = []
        for tile in self._tiles(rows):
            largest, key = tile.max(dim=-1)
            parts.append(torch.where(largest > 0, key, -1))
        return self._squeeze(torch.cat(parts, dim=2))

    def coverage(self) -> Tensor:
        """How much each key was attended to over all queries, sum_t a_ts: [B, (H,) S]."""
        total = [tile.sum(2) for tile in self._tiles(None)]
        return self._squeeze(torch.stack(total).sum(0))

    def _tiles(self, rows: Index) -> Iterator[Tensor]:
        """Weights of all heads, some rows at a time."""
        batch, heads, queries, keys = self._shape
        every_head, chosen = self._indices(None, heads), self._indices(rows, queries)
        for part in chosen.split(max(1, _TILE // max(1, batch * heads * keys))):
            yield self._weigh(every_head, part)

    def _indices(self, index: Index, size: int) -> Tensor:
        every = torch.arange(size, device=self.context.device)
        if index is None:
            return every
        return every[[index]] if isinstance(index, int) else every[index]

    def _squeeze(self, result: Tensor) -> Tensor:
        return result if self._has_heads else result.squeeze(1)

    def __repr__(self) -> str:
        return f"Attended(context={list(self.context.shape)}, weights={list(self._shape)})"
