"""Tiles of the [B, H, T, S, A] tensor of additive attention, and weights recomputed on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Protocol

import torch
from torch import Tensor

from regard.masks import Mask, MaskBlocks, Shape
from regard.ops.softmax import masked_softmax, statistics_dtype
from regard.ops.weights import Weigh

# Elements of one tile: fits a core's cache on a CPU, fills the chip on other devices.
_ELEMENTS_ON_CPU = 1 << 19
_ELEMENTS_ELSEWHERE = 1 << 25


@dataclass(frozen=True)
class ScoreTile:
    """One block of the computation: sequences, queries, keys, and what the mask allows there (None: all of it)."""

    batch: slice
    rows: slice
    cols: slice
    allowed: Tensor | None

    @property
    def queries(self) -> tuple[slice, slice, slice]:
        """Index of the tile's queries in a [B, H, T, ...] tensor."""
        return self.batch, slice(None), self.rows

    @property
    def keys(self) -> tuple[slice, slice, slice]:
        """Index of the tile's keys in a [B, H, S, ...] tensor."""
        return self.batch, slice(None), self.cols

    @property
    def pairs(self) -> tuple[slice, slice, slice, slice]:
        """Index of the tile in a [B, H, T, S, ...] tensor."""
        return self.batch, slice(None), self.rows, self.cols


@dataclass(frozen=True)
class Operands:
    """Operands of an additive score, shaped as in `additive_score`. Its gradients have the same form."""

    query: Tensor
    key: Tensor
    weight: Tensor
    features: Tensor | None
    feature_weight: Tensor | None

    @property
    def shape(self) -> Shape:
        """[B, H, T, S] of the energies."""
        batch, heads, queries, _ = self.query.shape
        return batch, heads, queries, self.key.shape[2]

    def widen(self) -> Operands:
        """Return all operands in the dtype of the query's statistics."""
        statistics = statistics_dtype(self.query.dtype)
        return Operands(*(None if t is None else t.to(statistics) for t in self.tensors()))  # type: ignore[arg-type]

    def zeros(self) -> Operands:
        """Return zero gradients of all operands."""
        return Operands(*(None if t is None else torch.zeros_like(t) for t in self.tensors()))  # type: ignore[arg-type]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """Return the operands in the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def hidden(self, tile: ScoreTile) -> Tensor:
        """tanh(q + k + P f) of a tile, [b, h, q, k, a]."""
        hidden = self.query[tile.queries].unsqueeze(3) + self.key[tile.keys].unsqueeze(2)
        if self.features is not None and self.feature_weight is not None:
            hidden += self.features[tile.pairs] @ self.feature_weight.mT[:, None]
        if hidden.is_cpu:  # where a σ takes a third to a fifth of the time of a tanh
            return hidden.mul_(2).sigmoid_().mul_(2).sub_(1)
        return hidden.tanh_()

    def energy(self, hidden: Tensor, tile: ScoreTile) -> Tensor:
        """Energies of a tile, [b, h, q, k], -inf where the mask forbids."""
        if len(self.weight) == 1:
            energy = torch.mv(hidden.flatten(0, -2), self.weight[0]).view(hidden.shape[:-1])
        else:
            energy = torch.einsum("bhqka,ha->bhqk", hidden, self.weight)
        return energy if tile.allowed is None else energy.masked_fill_(~tile.allowed, -torch.inf)

    def add_gradients(self, grads: Operands, tile: ScoreTile, hidden: Tensor, grad_energy: Tensor) -> None:
        """Add a tile's share to `grads`, from the gradient of its energies. Destroys `hidden`."""
        # Sum over keys first, then over queries: a single sum over both would lose a digit.
        grads.weight.add_((grad_energy.unsqueeze(3) @ hidden).squeeze(3).sum((0, 2)))
        inside = hidden.square_().neg_().add_(1.0).mul_(self.weight[:, None, None]).mul_(grad_energy.unsqueeze(4))
        grads.query[tile.queries] += inside.sum(3)
        grads.key[tile.keys] += inside.sum(2)
        if self.features is None or self.feature_weight is None:
            return
        assert grads.features is not None
        assert grads.feature_weight is not None
        features = self.features[tile.pairs].expand(-1, hidden.shape[1], -1, -1, -1)
        grads.feature_weight.add_(torch.einsum("bhqka,bhqkf->haf", inside, features))
        grad_features = inside @ self.feature_weight[:, None]
        one_head = self.features.shape[1] == 1
        grads.features[tile.pairs] += grad_features.sum(1, keepdim=True) if one_head else grad_features


def tiles(operands: Operands, mask: Mask | None = None) -> Iterator[ScoreTile]:
    """Yield the tiles of a computation, except those that are masked entirely."""
    shape, device = operands.shape, operands.query.device
    if 0 in shape:
        return
    batch, _, queries, keys = shape
    size, height, width = _tile_sizes(shape, operands.query.shape[3], device)
    blocks = None if mask is None or _recorded() else mask.to(device).blocks(shape, (height, width))
    for b in range(0, batch, size):
        sequences = slice(b, min(b + size, batch))
        skip, full = _tables(blocks, sequences)
        for t in range(0, queries, height):
            for s in range(0, keys, width):
                at = (t // height, s // width)
                if at in skip:
                    continue
                rows, cols = slice(t, min(t + height, queries)), slice(s, min(s + width, keys))
                allowed = None if mask is None or at in full else _allowed(mask, shape, sequences, rows, cols, device)
                yield ScoreTile(sequences, rows, cols, allowed)


def _recorded() -> bool:
    """Return whether a CUDA graph is being captured, during which synchronisation is not allowed."""
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def _tile_sizes(shape: Shape, width: int, device: torch.device) -> tuple[int, int, int]:
    """Return sequences, queries and keys per tile: near square in queries and keys, then more sequences."""
    batch, heads, queries, keys = shape
    elements = _ELEMENTS_ON_CPU if device.type == "cpu" else _ELEMENTS_ELSEWHERE
    pairs = max(1, elements // (heads * max(1, width)))
    across = min(keys, max(1, 1 << (pairs.bit_length() // 2)))
    down = min(queries, max(1, pairs // across))
    return min(batch, max(1, pairs // (across * down))), down, across


_Table = set[tuple[int, int]]


def _tables(blocks: MaskBlocks | None, sequences: slice) -> tuple[_Table, _Table]:
    """Return the blocks masked entirely, and those allowed entirely, for all of these sequences and all heads."""
    if blocks is None:
        return set(), set()

    def everywhere(table: Tensor) -> _Table:
        part = table if table.shape[0] == 1 else table[sequences]
        return {(t, s) for t, s in part.all(1).all(0).nonzero().tolist()}

    return everywhere(blocks.ruled_out), everywhere(blocks.full)


def _allowed(mask: Mask, shape: Shape, sequences: slice, rows: slice, cols: slice, device: torch.device) -> Tensor:
    def indices(part: slice) -> Tensor:
        return torch.arange(part.start, part.stop, device=device)

    allowed = mask.allowed(shape, rows=indices(rows), cols=indices(cols), device=device)
    return allowed if allowed.shape[0] == 1 else allowed[sequences]


class TileScore(Protocol):
    """Energies [B, H, T, S] of operands shaped as in `additive_score`."""

    def __call__(
        self, query: Tensor, key: Tensor, weight: Tensor, *, features: Tensor | None, feature_weight: Tensor | None
    ) -> Tensor: ...


def rebuilt(score: TileScore, operands: Operands, mask: Mask | None) -> Weigh:
    """Return a function that recomputes the weights of any heads and rows, with gradients.

    It does not use a saved log-sum-exp: the rounding error of that large number would exceed the error of a softmax.
    """
    query, key, features, shape = operands.query, operands.key, operands.features, operands.shape
    # Copy the parameters: an optimizer may update them before the weights are accessed.
    weight, feature_weight = operands.weight.clone(), operands.feature_weight
    feature_weight = None if feature_weight is None else feature_weight.clone()

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        """a = softmax(e) of the chosen heads and rows."""
        energy = score(
            query.index_select(1, head).index_select(2, row),
            key.index_select(1, head),
            weight.index_select(0, head),
            features=None if features is None else _pick(features, head, row),
            feature_weight=None if feature_weight is None else feature_weight.index_select(0, head),
        )
        if mask is not None:
            energy = energy.masked_fill(~mask.allowed(shape, heads=head, rows=row, device=energy.device), -torch.inf)
        return masked_softmax(energy)

    return weigh


def _pick(features: Tensor, head: Tensor, row: Tensor) -> Tensor:
    """Select the features of some heads and rows; features shared by all heads stay shared."""
    features = features if features.shape[1] == 1 else features.index_select(1, head)
    return features.index_select(2, row)
