"""Softmax attention over inner products within a window, without computing pairs outside of it.

In half precision on a GPU, flash attention supports windows. Otherwise, and with padded keys, queries are processed in
blocks of C. A block sees the C + W - 1 keys from the first key of its first query to the last key of its last query, so
that T·(C + W) pairs are computed instead of T·S, and no tensor of T·S pairs is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask, Shape
from regard.ops.attended import Attended
from regard.ops.inner_product.read import Implementation, ReadArguments
from regard.ops.inner_product.sdpa import aligned, capability, fused_attention

_BLOCK = 64  # queries of a block, at least: what a fused kernel is made for
_CAPABILITY, _WIDEST = (8, 0), 256  # of flash attention
_GAIN = 2  # pairs that a window must save to pay for laying out the keys: half of them


@dataclass(frozen=True)
class Band:
    """A window in blocks: query t, at position t + S - T, sees `width` keys from position + `first` + 1 on.

    Attributes:
        shape: [B, H, T, S].
        first: keys after position + first are visible.
        width: number of visible keys.
        lengths: [B], number of valid keys; None for no limit.
    """

    shape: Shape
    first: int
    width: int
    lengths: Tensor | None

    @staticmethod
    def of(mask: Mask | None, shape: Shape, *, gain: int = _GAIN) -> Band | None:
        """Return the band of a mask that is a window, with or without padding; None for other masks and wide windows.

        A slab may cover at most 1 / `gain` of the memory; with 0 every window qualifies.

        >>> Band.of(Mask.window(16), (1, 1, 1024, 1024)).slab
        79
        >>> Band.of(Mask.window(600), (1, 1, 1024, 1024)) is None
        True
        """
        if mask is None or not mask.by_position:
            return None
        lengths, first, last, rest = mask.spans(shape)
        if first is None or last is None or last <= first or rest is not None:
            return None
        band = Band(shape, first, last - first, lengths)
        return band if band.slab * gain <= shape[3] else None

    @property
    def block(self) -> int:
        """Number of queries per block."""
        return max(1, min(self.shape[2], max(_BLOCK, self.width)))

    @property
    def slab(self) -> int:
        """Number of keys per block."""
        return self.block + self.width - 1

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.shape[2] // self.block)

    @property
    def start(self) -> int:
        """First key of the first slab; negative for positions before the memory."""
        return self.shape[3] - self.shape[2] + self.first + 1

    def slabs(self, memory: Tensor) -> Tensor:
        """Lay out keys or values by block: [B, H, S, D] -> [B * n, H, slab, D], zeros outside of the memory."""
        keys, end = self.shape[3], self.start + (self.blocks - 1) * self.block + self.slab
        here = memory[:, :, min(max(self.start, 0), keys) : min(max(end, 0), keys)]
        before = min(max(-self.start, 0), end - self.start)
        padded = F.pad(here, (0, 0, before, end - self.start - before - here.shape[2]))
        # [B, H, n, D, slab] -> [B * n, H, slab, D]
        slabs: Tensor = padded.unfold(2, self.slab, self.block).permute(0, 2, 1, 4, 3).flatten(0, 1)
        return slabs

    def cut(self, query: Tensor) -> Tensor:
        """Split queries into blocks: [B, H, T, D] -> [B * n, H, block, D], zeros after the last."""
        padded = F.pad(query, (0, 0, 0, self.blocks * self.block - self.shape[2]))
        # [B, H, n, block, D] -> [B * n, H, block, D]
        blocks: Tensor = padded.unflatten(2, (self.blocks, self.block)).transpose(1, 2).flatten(0, 1)
        return blocks

    def joined(self, context: Tensor) -> Tensor:
        """Invert `cut`: [B * n, H, block, Dv] -> [B, H, T, Dv]."""
        by_block: Tensor = context.unflatten(0, (self.shape[0], self.blocks)).transpose(1, 2)  # [B, H, n, block, D]
        return by_block.flatten(2, 3)[:, :, : self.shape[2]]

    def allowed(self, device: torch.device) -> Tensor:
        """Return the mask of each block and its slab, [B * n, 1, block, slab]."""
        position = torch.arange(self.slab, device=device)
        ahead = position - torch.arange(self.block, device=device).unsqueeze(1)
        near = (ahead >= 0) & (ahead < self.width)
        key = position + (self.start + self.block * torch.arange(self.blocks, device=device)).unsqueeze(1)
        end = torch.full((1,), self.shape[3], device=device) if self.lengths is None else self.lengths.to(device)
        there = (key >= 0) & (key < end[:, None, None].clamp(max=self.shape[3]))
        return (there.unsqueeze(2) & near).expand(self.shape[0], -1, -1, -1).flatten(0, 1).unsqueeze(1)


def windowed_attention(
    query: Tensor, key: Tensor, value: Tensor, band: Band, *, scale: float, dropout: float = 0.0
) -> Tensor:
    """Compute softmax(scale q.k) value within the band, [B, H, T, Dv]; zeros for a query with an empty window.

    >>> ones = torch.ones(1, 1, 4, 2)
    >>> band = Band((1, 1, 4, 4), first=-2, width=2, lengths=None)
    >>> windowed_attention(ones, ones, ones.cumsum(2), band, scale=1.0)[0, 0, :, 0]
    tensor([1.0, 1.5, 2.5, 3.5])
    """
    allowed = band.allowed(query.device)
    empty = ~allowed.any(dim=-1, keepdim=True)
    context = fused_attention(
        band.cut(query), band.slabs(key), band.slabs(value), allowed | empty, scale=scale, dropout=dropout
    )
    return band.joined(context.masked_fill(empty, 0.0))


def refusal(read: ReadArguments) -> str | None:
    """Return the obstacle: a mask without a window."""
    return "needs a window, padded or not" if Band.of(read.mask, read.shape, gain=0) is None else None


def attend(read: ReadArguments) -> Attended:
    """Attend in blocks of queries, each to the keys within reach of its window."""
    band = Band.of(read.mask, read.shape, gain=0)
    assert band is not None, "refusal asks for a window"
    return _attend(read, band)


def offer(read: ReadArguments) -> Attended | None:
    """Attend if the window is much narrower than the memory, by flash attention where it supports the window."""
    band = None if read.causal else Band.of(read.mask, read.shape)
    if band is None:
        return None
    return _attend(read, band) if _no_flash(read, band) else _attend_by_flash(read, band)


def _attend(read: ReadArguments, band: Band) -> Attended:
    context = windowed_attention(read.query, read.key, read.value, band, scale=read.scale, dropout=read.dropout)
    return read.attended(context, BANDED.name)


BANDED = Implementation("banded", offer, refusal, attend)


def flash_refusal(read: ReadArguments) -> str | None:
    """Return the obstacle: no window that flash attention supports."""
    band = Band.of(read.mask, read.shape, gain=0)
    return "needs a window, not padded" if band is None else _no_flash(read, band)


def flash_attend(read: ReadArguments) -> Attended:
    """Attend by the window of flash attention."""
    band = Band.of(read.mask, read.shape, gain=0)
    assert band is not None, "flash_refusal asks for a window"
    return _attend_by_flash(read, band)


def _attend_by_flash(read: ReadArguments, band: Band) -> Attended:
    return read.attended(_by_flash(read.query, read.key, read.value, band, read.scale), FLASH_WINDOW.name)


FLASH_WINDOW = Implementation("flash_window", lambda read: None, flash_refusal, flash_attend)
"""Offered by `BANDED`, which finds the window first."""


def _no_flash(read: ReadArguments, band: Band) -> str | None:
    """Return why flash attention cannot be used: it needs half precision on a GPU, no padding and no dropout."""
    query, value = read.query, read.value
    if not query.is_cuda or not torch.backends.cuda.is_flash_attention_available():
        return f"needs a CUDA device with flash attention; got tensors on {query.device}"
    if query.dtype not in (torch.float16, torch.bfloat16) or read.dropout:
        return f"has half precision and no dropout; got {query.dtype} and {read.dropout}"
    if band.lengths is not None or not band.first < 0 <= band.first + band.width:
        return "needs a window with the query's own position in it, not padded"
    if not query.shape[3] == value.shape[3] <= _WIDEST or query.shape[3] % 8:
        return f"needs one width, a multiple of 8 up to {_WIDEST}; got {query.shape[3]} and {value.shape[3]}"
    return None if capability(query.device) >= _CAPABILITY else f"needs a GPU of capability {_CAPABILITY[0]}"


def _by_flash(query: Tensor, key: Tensor, value: Tensor, band: Band, scale: float) -> Tensor:
    """Call flash attention with its parameters: numbers of keys before and after the position of a query."""
    by_position = (aligned(tensor).transpose(1, 2) for tensor in (query, key, value))  # [B, T, H, D]
    context: Tensor = torch.ops.aten._flash_attention_forward(
        *by_position, None, None, query.shape[2], key.shape[2], 0.0, False, False, scale=scale,
        window_size_left=-band.first - 1, window_size_right=band.first + band.width,
    )[0]  # fmt: skip
    return context.transpose(1, 2)  # [B, H, T, Dv]
