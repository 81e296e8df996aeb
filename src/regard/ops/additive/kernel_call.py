"""One read, as the kernels take it: tensors with their strides, the mask taken apart, and the launches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.additive.kernels.backward import energy_gradients, slopes
from regard.ops.additive.kernels.device import INTERPRETED
from regard.ops.additive.kernels.energy import prepare
from regard.ops.additive.kernels.forward import attend
from regard.ops.additive.launch import SCRATCH, Launch, LaunchTile
from regard.ops.additive.tiles import Operands

_FAR = 1 << 30
"""A window without an end."""


@dataclass(frozen=True)
class KernelSide:
    """Queries or keys as the kernels read them: [G, slices, A, granule], [G, rows, A], padded; each group's largest."""

    across: Tensor
    along: Tensor
    bound: Tensor


@dataclass(frozen=True)
class ScratchSlab:
    """As many groups and rows as the scratch memory holds."""

    group: int
    groups: int
    row: int
    rows: int


class KernelCall:
    """Shapes, strides and launches of one read: `attend` forwards, `gradients` backwards."""

    def __init__(self, operands: Operands, value: Tensor, mask: Mask | None, launch: Launch) -> None:
        self.operands, self.value, self.launch = operands, value, launch
        self.batch, self.heads, self.queries, self.keys = operands.shape
        self.groups, self.width = self.batch * self.heads, operands.query.shape[3]
        self.even_width = max(4, _up(self.width, 4))
        self.padded_width = max(1, -(-self.width // launch.slopes.columns)) * launch.slopes.columns
        self.padded_t, self.padded_s = _up(self.queries, launch.granule), _up(self.keys, launch.granule)
        self.device = operands.query.device
        self.quick = operands.query.dtype == torch.bfloat16  # float16 can see 2^-11
        self.empty = 0 in operands.shape or value.shape[3] == 0
        self._take_mask(mask)
        self._take_weights()

    def attend(self) -> tuple[Tensor, Tensor, Tensor]:
        """Context [B, H, T, Dv], and level and total [B, H, T] of each row's softmax, exp(e - level) / total."""
        value, tile = self.value, self.launch.forward
        shape = (self.batch, self.heads, self.queries)
        if self.empty:
            return self._new(*shape, value.shape[3]).zero_(), self._new(*shape).zero_(), self._new(*shape).fill_(1.0)
        context, level, total = self._new(*shape, value.shape[3]), self._new(*shape), self._new(*shape)
        block = min(256, max(16, _power(value.shape[3])))
        with self._on_device():
            query, key = self._side(self.operands.query, self.padded_t), self._side(self.operands.key, self.padded_s)
            grid = (-(-self.queries // tile.rows), self.groups, -(-value.shape[3] // block))
            attend[grid](
                *self._energies(query, key), value, context, level, total, *self._sizes(),
                BLOCK_T=tile.rows, BLOCK_S=tile.columns, BLOCK_D=block, **self._switches(tile),
                CALM=value.dtype != torch.float16,  # whose numbers end at 65,504
            )  # fmt: skip
        return context, level, total

    def gradients(
        self, upstream: Tensor, level: Tensor, total: Tensor, delta: Tensor
    ) -> tuple[Operands, Tensor]:  # fmt: skip
        """Gradients of the operands and of the value, from that of the context, [B, H, T, Dv], and δ [B, H, T]."""
        operands = self.operands
        if self.empty:
            return operands.zeros(), torch.zeros_like(self.value)
        sums = _Sums(self)
        upstream = upstream.to(self.value.dtype).contiguous()
        delta = delta.contiguous()
        with self._on_device():
            query = self._side(operands.query, self.padded_t, along=True)
            key = self._side(operands.key, self.padded_s, along=True)
            for slab in self._slabs():
                self._add(slab, query, key, upstream, (level, total, delta), sums)
        return sums.finish()

    def _add(
        self,
        slab: ScratchSlab,
        query: KernelSide,
        key: KernelSide,
        upstream: Tensor,
        rows_of: tuple[Tensor, ...],
        sums: _Sums,
    ) -> None:
        """Add what a slab gives to the gradients."""
        both = not torch.are_deterministic_algorithms_enabled()
        gradient = self._energy_gradients(slab, query, key, upstream, rows_of, sums)
        self._query_slopes(slab, query, key, gradient, sums, both=both)
        if not both:
            self._key_slopes(slab, query, key, gradient, sums)

    def _energy_gradients(
        self,
        slab: ScratchSlab,
        query: KernelSide,
        key: KernelSide,
        upstream: Tensor,
        rows_of: tuple[Tensor, ...],
        sums: _Sums,
    ) -> Tensor:
        """∂/∂e of a slab, [g, padded S, padded rows]; the value's gradient and the sums are added to on the way."""
        value, tile = self.value, self.launch.energy
        rows = _up(slab.rows, max(tile.rows, self.launch.slopes.rows))
        grid = (self.padded_s // tile.columns, rows // tile.rows, slab.groups)
        shares = self._new(slab.groups, slab.rows, self.keys, dtype=value.dtype)
        gradient = self._new(slab.groups, self.padded_s, rows)
        features = self._new(1) if sums.features is None else sums.features
        block = min(64, max(16, _power(value.shape[3])))
        energy_gradients[grid](
            *self._energies(query, key), value, upstream, *rows_of, shares, gradient, features,
            slab.group, slab.row, slab.rows, *self._sizes(),
            BLOCK_T=tile.rows, BLOCK_S=tile.columns, BLOCK_D=block, **self._switches(tile),
        )  # fmt: skip
        groups = slice(slab.group, slab.group + slab.groups)
        above = upstream.flatten(0, 1)[groups, slab.row : slab.row + slab.rows]
        sums.value[groups] += torch.bmm(shares.mT, above)
        return gradient

    def _query_slopes(
        self, slab: ScratchSlab, query: KernelSide, key: KernelSide, gradient: Tensor, sums: _Sums, *, both: bool
    ) -> None:
        tile, rows = self.launch.slopes, gradient.shape[2]
        columns = self.padded_width // tile.columns
        pieces = self.launch.pieces(rows // tile.rows * columns * slab.groups) if both else 1
        grid = (rows // tile.rows * pieces, columns, slab.groups)
        pulled = self._new(slab.groups, grid[0], self.padded_width)
        maps = self._new(slab.groups, grid[0], self.padded_width, max(1, self.feature_block))
        features = self.features.stride()
        slopes[grid](
            query.along, key.along, query.bound, key.bound, self.operands.query, self.operands.key,
            self.maps, self.features, self.lengths, gradient, sums.query, sums.key, pulled, maps,
            slab.group, slab.row, 0, slab.rows, self.keys, self.heads, self.queries, self.keys, self.width,
            self.padded_width, self.padded_t, self.padded_s, self.feature_count, self.first, self.last,
            gradient.stride(0), 1, rows, *self.operands.query.stride(), *self.operands.key.stride(), *features,
            BLOCK=tile.rows, BLOCK_A=tile.columns, PIECES=pieces, BOTH=both, WEIGHT=True, **self._slope_switches(tile),
            LENGTHS=self.limited,
        )  # fmt: skip
        groups = slice(slab.group, slab.group + slab.groups)
        sums.pulled[groups] += pulled.sum(1)
        if self.feature_block:
            sums.maps[groups] += maps.sum(1)

    def _key_slopes(self, slab: ScratchSlab, query: KernelSide, key: KernelSide, gradient: Tensor, sums: _Sums) -> None:
        """The keys' side alone, in a fixed order."""
        tile, rows = self.launch.slopes, gradient.shape[2]
        grid = (self.padded_s // tile.rows, self.padded_width // tile.columns, slab.groups)
        batch, head, t, s, f = self.features.stride()
        slopes[grid](
            key.along, query.along, key.bound, query.bound, self.operands.key, self.operands.query,
            self.maps, self.features, self.lengths, gradient, sums.key, sums.query, sums.pulled, sums.maps,
            slab.group, 0, slab.row, self.keys, slab.rows, self.heads, self.keys, self.queries, self.width,
            self.padded_width, self.padded_s, self.padded_t, self.feature_count, -self.last - 1, -self.first - 1,
            gradient.stride(0), rows, 1, *self.operands.key.stride(), *self.operands.query.stride(),
            batch, head, s, t, f,
            BLOCK=tile.rows, BLOCK_A=tile.columns, PIECES=1, BOTH=False, WEIGHT=False, **self._slope_switches(tile),
            LENGTHS=False,
        )  # fmt: skip

    def _side(self, source: Tensor, padded: int, *, along: bool = False) -> KernelSide:
        block, columns = (16, 16) if INTERPRETED else (32, 64)
        across = self._new(self.groups, padded // self.launch.granule, self.even_width, self.launch.granule)
        walk = self._new(self.groups, padded, self.padded_width) if along and self.launch.slope_group else across
        bound = torch.zeros(self.groups, device=self.device)
        prepare[(padded // block, self.groups)](
            source, across, walk, bound,
            source.shape[2], self.width, self.heads, padded, self.padded_width, self.even_width,
            *source.stride(),
            EXPONENTIAL=self.launch.group > 0, ALONG=along and self.launch.slope_group > 0, GRANULE=self.launch.granule,
            BLOCK=block, BLOCK_A=columns, num_warps=4, **_FUSION,
        )  # fmt: skip
        return KernelSide(across, walk, bound)

    def _energies(self, query: KernelSide, key: KernelSide) -> tuple[Any, ...]:
        """The tensors that energies are made of, in the order of the kernels."""
        return (
            query.across, key.across, query.bound, key.bound, self.operands.query, self.operands.key,
            self.weight, self.maps, self.features, self.lengths, self.dense,
        )  # fmt: skip

    def _sizes(self) -> tuple[int, ...]:
        """Sizes and strides, in the order of the kernels."""
        return (
            self.heads, self.queries, self.keys, self.width, self.even_width, self.padded_t, self.padded_s,
            self.value.shape[3], self.feature_count, self.first, self.last,
            *self.operands.query.stride(), *self.operands.key.stride(), *self.features.stride(), *self.dense.stride(),
            *self.value.stride(),
        )  # fmt: skip

    def _switches(self, tile: LaunchTile) -> dict[str, Any]:
        return {
            **self._ways(tile, self.launch.group),
            "LENGTHS": self.limited,
            "DENSE": self.has_dense,
            "WIDTH": _power(self.width),
            "GRANULE": self.launch.granule,
            "PRECISION": "tf32x3",  # float32 in three products of the tensor cores; for half precision it means nothing
        }

    def _slope_switches(self, tile: LaunchTile) -> dict[str, Any]:
        return self._ways(tile, self.launch.slope_group)

    def _ways(self, tile: LaunchTile, group: int) -> dict[str, Any]:
        return {
            "GROUP": group,
            "LIMIT": self.launch.limit,
            "FEATURES": self.feature_block,
            "QUICK": self.quick and not self.feature_block,
            "num_warps": tile.warps,
            "num_stages": tile.stages,
            **_FUSION,
        }

    def _slabs(self) -> Iterator[ScratchSlab]:
        size = self.value.element_size() + 4  # a weight, and the gradient of its energy in float32
        granule = self.launch.granule
        rows = max(granule, SCRATCH // (size * self.padded_s) // granule * granule)
        together = max(1, rows // self.padded_t)
        for group in range(0, self.groups, together):
            for row in range(0, self.queries, rows):
                yield ScratchSlab(group, min(together, self.groups - group), row, min(rows, self.queries - row))

    def _take_mask(self, mask: Mask | None) -> None:
        shape, place = self.operands.shape, self.keys - self.queries
        spans = None if mask is None else mask.to(self.device).spans(shape)
        self.first = -_FAR if spans is None or spans.first is None else place + spans.first
        self.last = _FAR if spans is None or spans.last is None else place + spans.last
        self.limited = spans is not None and spans.lengths is not None
        self.lengths = spans.lengths.contiguous() if spans and spans.lengths is not None else self._none()
        self.has_dense = spans is not None and spans.rest is not None
        if spans is not None and spans.rest is not None:
            self.dense = spans.rest.allowed(shape, device=self.device).expand(shape).view(torch.uint8)
        else:
            self.dense = self._none(4)

    def _take_weights(self) -> None:
        features, maps = self.operands.features, self.operands.feature_weight
        self.weight = self.operands.weight.contiguous()
        self.feature_count = 0 if features is None else features.shape[4]
        self.feature_block = 0 if features is None else max(2, _power(self.feature_count))
        self.maps = self._none() if maps is None else maps.float().contiguous()
        self.features = self._none(5) if features is None else features.expand(-1, self.heads, -1, -1, -1)

    def _new(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=self.device)

    def _none(self, dimensions: int = 1) -> Tensor:
        """A placeholder for an operand that a kernel does not read."""
        return torch.empty((1,) * dimensions, device=self.device)

    def _on_device(self) -> Any:
        return torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext()


class _Sums:
    """Gradients while they are added up, in float32, a slab at a time."""

    def __init__(self, call: KernelCall) -> None:
        def zeros(*shape: int) -> Tensor:
            return torch.zeros(call.groups, *shape, dtype=torch.float32, device=call.device)

        self.call = call
        self.query = zeros(call.padded_t, call.padded_width)
        self.key = zeros(call.padded_s, call.padded_width)
        self.value = zeros(call.keys, call.value.shape[3])
        self.pulled = zeros(call.padded_width)
        self.maps = zeros(call.padded_width, max(1, call.feature_block))
        self.features = zeros(call.queries, call.keys, call.feature_count) if call.feature_block else None

    def finish(self) -> tuple[Operands, Tensor]:
        """Gradients of the operands, and of the value."""
        call, given = self.call, self.call.operands
        batch, heads, width = call.batch, call.heads, call.width
        slope = given.weight.float()

        def per_head(tensor: Tensor) -> Tensor:
            return tensor.view(batch, heads, *tensor.shape[1:])

        query = per_head(self.query)[:, :, : call.queries, :width] * slope[:, None]
        key = per_head(self.key)[:, :, : call.keys, :width] * slope[:, None]
        weight = per_head(self.pulled)[..., :width].sum(0)
        features, maps = None, None
        if self.features is not None and given.features is not None:
            features = per_head(self.features)
            features = features.sum(1, keepdim=True) if given.features.shape[1] == 1 else features
            maps = per_head(self.maps)[:, :, :width, : call.feature_count].sum(0) * slope[..., None]
        return Operands(query, key, weight, features, maps), per_head(self.value)


_FUSION: dict[str, Any] = {} if INTERPRETED else {"enable_fp_fusion": True}


def _up(size: int, to: int) -> int:
    return -(-size // to) * to


def _power(size: int) -> int:
    """The power of two at or above."""
    return 1 << max(0, size - 1).bit_length()
