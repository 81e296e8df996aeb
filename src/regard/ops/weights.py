"""Attention weights, computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Index = slice | Sequence[int] | Tensor | int | None
Weigh = Callable[[Tensor, Tensor], Tensor]
"""(head indices [h], query indices [t]) -> weights [B, h, t, S]."""

_TILE = 1 << 22  # weights held at once while reducing over rows: 16 MiB in float32


class TopK(NamedTuple):
    """The k largest weights of each query and their keys, both [B, (H,) T, k], in descending order."""

    weights: Tensor
    keys: Tensor


class Weights:
    """Exact attention weights, and reductions that never hold all of them.

    An implementation that computes weights stores them; those of a fused one are recomputed row by row from queries,
    keys and log-sum-exp. Reductions (`topk`, `entropy`, ...) process some rows at a time.

    Attributes:
        weigh: computes the weights [B, h, t, S] of some heads [h] and rows [t].
        has_heads: True if results have an axis of heads.

    >>> seen = Weights.of(torch.tensor([[[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]]))
    >>> seen.entropy(), seen.alignment(rows=-1)
    (tensor([[[0.6931, 0.0000]]]), tensor([[[2]]]))
    """

    def __init__(
        self, weigh: Weigh, shape: tuple[int, int, int, int], device: torch.device, *, has_heads: bool = True
    ) -> None:
        self.weigh = weigh
        self._shape = shape
        self._device = device
        self.has_heads = has_heads

    @classmethod
    def of(cls, weights: Tensor, *, has_heads: bool = True) -> Weights:
        """Wrap a tensor [B, H, T, S]."""
        return Weights(StoredWeights(weights), sizes(weights), weights.device, has_heads=has_heads)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape [B, H, T, S] of the weights, H = 1 for a module without heads."""
        return self._shape

    def weights(self, *, rows: Index = None, heads: Index = None) -> Tensor:
        """Return the attention weights, [B, H, T, S]; [B, T, S] from a module without heads. Differentiable.

        Args:
            rows: queries: a slice, indices or one index (the axis is kept); None for all.
            heads: heads, likewise.
        """
        if rows is None and heads is None and isinstance(self.weigh, StoredWeights):
            return self._squeeze(self.weigh.weights)
        _, num_heads, queries, _ = self._shape
        return self._squeeze(self.weigh(self._indices(heads, num_heads), self._indices(rows, queries)))

    def pick(self, *, rows: Index = None, heads: Index = None) -> Weights:
        """Compute and store the selected rows and heads; the tensors of the read can then be freed."""
        _, num_heads, queries, _ = self._shape
        part = self.weigh(self._indices(heads, num_heads), self._indices(rows, queries))
        return Weights.of(part, has_heads=self.has_heads)

    def topk(self, k: int, *, rows: Index = None) -> TopK:
        """Return the k largest weights of each query with their keys; key -1 where fewer than k are positive."""
        keys = self._shape[3]
        if not 1 <= k <= keys:
            raise ValueError(f"topk({k}): there are {keys} keys to choose from")
        parts = [tile.topk(k, dim=-1) for _, tile in self._tiles(rows)]
        weights = torch.cat([part.values for part in parts], dim=2)
        keys_found = torch.cat([part.indices for part in parts], dim=2)
        return TopK(self._squeeze(weights), self._squeeze(keys_found.masked_fill(weights == 0, -1)))

    def entropy(self, *, rows: Index = None) -> Tensor:
        """Return -sum_s a_s log a_s of each query in nats, [B, (H,) T]: 0 for one key, log S for uniform weights."""
        return self._squeeze(torch.cat([entropy(tile) for _, tile in self._tiles(rows)], dim=2))

    def alignment(self, *, rows: Index = None) -> Tensor:
        """Return the key with the largest weight of each query, [B, (H,) T]; -1 for a fully masked row."""
        if self._shape[3] == 0:
            count = len(self._indices(rows, self._shape[2]))
            return self._squeeze(torch.full((*self._shape[:2], count), -1, device=self._device))
        parts = []
        for _, tile in self._tiles(rows):
            parts.append(torch.where((tile != 0).any(-1), tile.argmax(-1), -1))
        return self._squeeze(torch.cat(parts, dim=2))

    def coverage(self, *, lengths: Tensor | None = None) -> Tensor:
        """Return the attention to each key summed over queries, sum_t a_ts: [B, (H,) S].

        `lengths` [B] are the true numbers of queries if queries are padded; None for all.
        """
        total = torch.zeros((), device=self._device)
        for rows, tile in self._tiles(None):
            if lengths is None:
                total = total + tile.sum(2)
            else:
                late = rows >= lengths.to(self._device).unsqueeze(1)
                total = total + tile.masked_fill(late[:, None, :, None], 0.0).sum(2)
        return self._squeeze(total)

    def _tiles(self, rows: Index) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield some rows at a time: their indices, and their weights in all heads."""
        batch, heads, queries, keys = self._shape
        every_head, chosen = self._indices(None, heads), self._indices(rows, queries)
        for part in chosen.split(max(1, _TILE // max(1, batch * heads * keys))):
            yield part, self.weigh(every_head, part)

    def _indices(self, index: Index, size: int) -> Tensor:
        if index is None:
            return torch.arange(size, device=self._device)
        # Chosen on the CPU, where an index out of range is an IndexError; on a GPU it would end the process's context.
        every = torch.arange(size, device="cpu")
        if isinstance(index, slice):
            return every[index].to(self._device)
        wanted = [index] if isinstance(index, int) else [int(number) for number in index]
        if any(not -size <= number < size for number in wanted):
            raise IndexError(f"there are {size} to choose from, 0 to {size - 1}; asked for {index}")
        return every[wanted].to(self._device)

    def _squeeze(self, result: Tensor) -> Tensor:
        return result if self.has_heads else result.squeeze(1)

    def __repr__(self) -> str:
        return f"Weights({list(self._shape)})"


def entropy(weights: Tensor) -> Tensor:
    """Compute -sum a log a over the last dimension, with a finite gradient at weights of exactly zero."""
    return -(weights * weights.clamp(min=torch.finfo(weights.dtype).tiny).log()).sum(-1)


class StoredWeights:
    """`Weigh` for stored weights [B, H, T, S]."""

    def __init__(self, weights: Tensor) -> None:
        self.weights = weights

    def __call__(self, head: Tensor, row: Tensor) -> Tensor:
        return self.weights.index_select(1, head).index_select(2, row)


def sizes(weights: Tensor) -> tuple[int, int, int, int]:
    """Return [B, H, T, S] as a tuple of four."""
    batch, heads, queries, keys = weights.shape
    return batch, heads, queries, keys
