"""One read by harmonic features that are made in registers, in one kernel."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from regard.masks import Mask
from regard.ops.additive.harmonic_fit import LIMIT, HarmonicFit
from regard.ops.additive.kernel_call import KernelCall
from regard.ops.additive.kernels.one_kernel import KEYS, ROWS, WARPS, attend_on_the_way
from regard.ops.additive.launch import Launch
from regard.ops.additive.tiles import Operands

_ROWS, _KEYS, _WARPS = ROWS.value, KEYS.value, WARPS.value


class OneKernelCall(KernelCall):
    """`read` in one kernel; `gradients` by the exact kernels, as in any `KernelCall`. `fits_one_kernel` says when.

    Args:
        operands: query, key and weight.
        value: [B, H, S, Dv].
        mask: what may be attended, without a dense part.
        launch: of the exact kernels.
        fit: an even one.
        promised: whether the span is a promise, to be checked, and not measured.
        save: whether the log-sum-exp is wanted, and the context in float32.
    """

    def __init__(
        self,
        operands: Operands,
        value: Tensor,
        mask: Mask | None,
        launch: Launch,
        fit: HarmonicFit,
        *,
        promised: bool,
        save: bool,
    ) -> None:
        super().__init__(operands, value, mask, launch)
        self.fit, self.promised, self.save = fit, promised, save
        self.masked = mask is not None or self.keys % _KEYS > 0
        self.pieces, self.blocks = -(-self.keys // _KEYS), -(-self.queries // _ROWS)

    def read(self) -> tuple[Tensor, Tensor]:
        """Context [B, H, T, Dv], in float32 if it is saved and else in the dtype of the value; lse [B, H, T]."""
        query, key, value, fit = self.operands.query, self.operands.key, self._even_value(), self.fit
        shape, width = (self.batch, self.heads, self.queries), value.shape[3]
        context = self._new(*shape, width, dtype=torch.float32 if self.save else value.dtype)
        lse = self._new(*shape) if self.save else self._none()
        slots = self.blocks * self.groups if self.pieces > 1 else 0
        parts, levels = self._new(slots, _ROWS, width), self._new(slots, 2, _ROWS)
        with self._on_device():
            done = counters(slots, self.device)
            attend_on_the_way[(self.blocks * self.pieces, self.groups)](
                query, key, value, self._even_weight(), self.lengths, context, lse, parts, levels, done,
                self.heads, self.queries, self.keys, *query.stride()[:3], *key.stride()[:3], *value.stride()[:3],
                self.first, self.last, fit.frequencies[0], fit.amplitudes, fit.slope, float(fit.span), LIMIT,
                WIDTH=self.width, POWER=max(32, 1 << (self.width - 1).bit_length()), TERMS=fit.terms, BLOCK_D=width,
                PIECES=self.pieces, MASKED=self.masked, LENGTHS=self.limited, CHECK=self.promised, SAVE=self.save,
                num_warps=_WARPS,
            )  # fmt: skip
        return context[..., : self.value.shape[3]], lse

    def _even_weight(self) -> Tensor:
        """Weights that begin where two of them can be fetched together."""
        return self.weight if self.weight.data_ptr() % 16 == 0 else self.weight.clone()

    def _even_value(self) -> Tensor:
        """Values as wide as a power of two from 16 on, whose rows begin where the copy engine can begin."""
        value, width = self.value, self.value.shape[3]
        power = max(16, 1 << (width - 1).bit_length())
        even = value.stride(3) == 1 and all(stride % 16 == 0 for stride in value.stride()[:3])  # as Triton counts
        if power == width and even and value.data_ptr() % 16 == 0:
            return value
        return functional.pad(value, (0, power - width)).contiguous()


_ROOM = 1 << 16

_of_streams: dict[tuple[torch.device, int], Tensor] = {}
_reserves: dict[torch.device, Tensor] = {}


def counters(count: int, device: torch.device) -> Tensor:
    """At least `count` zeros in int32, for the current stream or for the call that is captured."""
    if torch.cuda.is_current_stream_capturing():
        return _captured(count, device)
    if device not in _reserves:  # what is captured was run before
        _reserves[device] = torch.zeros(_ROOM, dtype=torch.int32, device=device)
        torch.cuda.synchronize(device)
    place = device, torch.cuda.current_stream(device).cuda_stream
    if place not in _of_streams or len(_of_streams[place]) < count:
        _of_streams[place] = torch.zeros(max(count, 1024), dtype=torch.int32, device=device)
    return _of_streams[place]


def _captured(count: int, device: torch.device) -> Tensor:
    """A part of the reserve that nobody else gets, or zeros that are made in every replay."""
    reserve = _reserves.get(device)
    if reserve is None or len(reserve) < count:
        return torch.zeros(count, dtype=torch.int32, device=device)
    _reserves[device] = reserve[count:]
    return reserve[:count]
