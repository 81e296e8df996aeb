"""One read by harmonic features, as the kernels take it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from triton.tools.tensor_descriptor import TensorDescriptor

from regard.masks import Mask
from regard.ops.additive.harmonic_fit import LIMIT, HarmonicFit
from regard.ops.additive.kernel_call import KernelCall
from regard.ops.additive.kernels.device import INTERPRETED
from regard.ops.additive.kernels.features import features
from regard.ops.additive.kernels.harmonic import attend_features
from regard.ops.additive.launch import HarmonicTile, Launch, choose_tile
from regard.ops.additive.tiles import Operands


class HarmonicCall(KernelCall):
    """`read` by features; `gradients` by the exact kernels, as in any `KernelCall`."""

    def __init__(
        self,
        operands: Operands,
        value: Tensor,
        mask: Mask | None,
        launch: Launch,
        fit: HarmonicFit,
        tile: HarmonicTile | None = None,
        *,
        save: bool = True,
    ) -> None:
        super().__init__(operands, value, mask, launch)
        if tile is None:
            tile = choose_tile(self.queries, self.keys, dense=self.has_dense, interpreted=bool(INTERPRETED))
        self.fit, self.tile, self.save, self.masked = fit, tile, save, mask is not None
        self.rows_t, self.rows_s = _up(self.queries, tile.rows), _up(self.keys, tile.columns)
        self.units = _up(max(1, self.width), 32)
        self.depth = 2 * fit.terms * self.units
        self.power = 1 << max(0, self.width - 1).bit_length()
        self.blocks = self.rows_t // tile.rows
        self.block_d = min(128, max(16, 1 << max(0, value.shape[3] - 1).bit_length()))
        self.value_blocks = -(-value.shape[3] // self.block_d)
        programs = self.blocks * self.groups * self.value_blocks
        self.pieces = 1 if self.empty else tile.pieces(programs, self.keys, self.device)
        self.slots = programs

    def read(self) -> tuple[Tensor, Tensor]:
        """Context [B, H, T, Dv], in float32 if it is saved and else in the dtype of the value; lse [B, H, T]."""
        shape = (self.batch, self.heads, self.queries)
        dtype = torch.float32 if self.save else self.value.dtype
        context, lse = self._new(*shape, self.value.shape[3], dtype=dtype), self._new(*shape)
        if self.empty:
            return context.zero_(), lse.fill_(-torch.inf)
        done = self._new(self.slots, dtype=torch.int32)
        with self._on_device():
            made = self._features(done)
            self._attend(*made, context, lse, done)
        return context, lse

    def _features(self, done: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Features of all queries and keys, [G · rows, 2NA'], their shifts and extremes; `done` gets zeros."""
        query, key, fit, tile = self.operands.query, self.operands.key, self.fit, self.tile
        block, columns = tile.features.shape(self.units, min(tile.rows, tile.columns))
        out = [self._new(self.groups * rows, self.depth, dtype=torch.float16) for rows in (self.rows_t, self.rows_s)]
        extremes = torch.full((2, self.groups, 2, self.width), -torch.inf, device=self.device)
        shifts = self._new(self.groups, self.rows_t + self.rows_s)
        features[((self.rows_t + self.rows_s) // block, self.groups)](
            query, key, self.weight, extremes, done, *out, shifts, self.slots,
            self.heads, self.queries, self.keys, self.width, self.rows_t, self.rows_s, self.units,
            *query.stride(), *key.stride(),
            tuple(frequency / (2 * torch.pi) for frequency in fit.frequencies), fit.amplitudes, fit.slope,
            TERMS=fit.terms, BLOCK=block, BLOCK_A=columns, WIDTH=self.power, num_warps=tile.features.warps,
        )  # fmt: skip
        return out[0], out[1], shifts, extremes

    def _attend(
        self, query: Tensor, key: Tensor, shifts: Tensor, extremes: Tensor, context: Tensor, lse: Tensor, done: Tensor
    ) -> None:
        tile, value = self.tile, self._rows_of_value()
        split = self.slots if self.pieces > 1 else 0
        parts = self._new(split, self.pieces, tile.rows, self.block_d)
        levels = self._new(split, self.pieces, 2, tile.rows)
        attend_features[(self.blocks * self.pieces, self.groups, self.value_blocks)](
            TensorDescriptor.from_tensor(query, [tile.rows, tile.depth]),
            TensorDescriptor.from_tensor(key, [tile.columns, tile.depth]),
            TensorDescriptor.from_tensor(value, [tile.columns, self.block_d]),
            shifts, self.weight, extremes, self.lengths, self.dense, context, lse, parts, levels, done,
            self.heads, self.queries, self.keys, self.width, self.rows_t, self.rows_s, self.depth, self.value.shape[3],
            self.first, self.last, *self.dense.stride(), self.fit.span, LIMIT,
            BLOCK_T=tile.rows, BLOCK_S=tile.columns, BLOCK_F=tile.depth, BLOCK_D=self.block_d, WIDTH=self.power,
            PIECES=self.pieces, MASKED=self.masked or self.keys != self.rows_s, LENGTHS=self.limited,
            DENSE=self.has_dense, FLATTEN=tile.flatten, num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip

    def _rows_of_value(self) -> Tensor:
        """Values as the copy engine reads them, [G · rows, Dv]: as they are, or padded with zeros."""
        value, width = self.value, self.value.shape[3]
        missing = self.rows_s - self.keys
        if missing or width % 8 or not value.is_contiguous() or value.data_ptr() % 16:
            value = functional.pad(value, (0, -width % 8, 0, missing)).contiguous()
        return value.view(self.groups * self.rows_s, -1)


def _up(size: int, to: int) -> int:
    return -(-size // to) * to
