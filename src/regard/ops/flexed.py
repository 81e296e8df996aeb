"""PyTorch's FlexAttention for long reads of which a mask leaves spans: keys up to a length, a window, or both.

The kernels behind `F.scaled_dot_product_attention` compute all pairs and then forget what a mask forbids. FlexAttention
is told which blocks of 128 x 128 pairs are empty, and skips them, and which are full, and needs no mask there. It is
compiled when it is first called, which takes some ten seconds: reads of 2²⁸ pairs in all heads together earn that back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from regard.masks import Mask, Shape
from regard.ops.fastest import capability
from regard.ops.kernels import runnable

_BLOCK = 128
_PAIRS = 1 << 28
_CAPABILITY = (9, 0)
_WIDTHS = (16, 32, 64, 128)
_KINDS = 4
"""Dtypes and widths that are compiled, at most: PyTorch runs what it will not compile once more slowly and in full."""

_compiled_kinds: set[object] = set()


def flex_fits(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, shape: Shape) -> bool:
    """Whether this is a long read in spans, in half precision, on a GPU that gains by it."""
    batch, heads, queries, keys = shape
    if mask is None or batch * heads * queries * keys < _PAIRS or not _has_kernel(query, key, value):
        return False
    kind = _kind(query, value)
    return (kind in _compiled_kinds or len(_compiled_kinds) < _KINDS) and mask.spans(shape).rest is None


def attention_in_spans(query: Tensor, key: Tensor, value: Tensor, mask: Mask, shape: Shape, *, scale: float) -> Tensor:
    """softmax(scale q.k) value under a mask of spans, [B, H, T, Dv]; zeros for a query that may attend to nothing."""
    _compiled_kinds.add(_kind(query, value))
    pattern = mask.once((BlockMask, shape, query.device), lambda mask: block_mask(mask, shape, query.device))
    flex = flex_attention if torch.compiler.is_compiling() else _compiled()
    context: Tensor = flex(query, key, value, block_mask=pattern, scale=scale)
    return context


def block_mask(mask: Mask, shape: Shape, device: torch.device) -> BlockMask:
    """A mask of spans as FlexAttention takes it.

    >>> mask = Mask.causal() & Mask.padding([200])
    >>> pattern = block_mask(mask, (1, 1, 384, 384), torch.device("cpu"))
    >>> pattern.to_dense()[0, 0].tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    >>> pattern.full_kv_num_blocks[0, 0].tolist()
    [0, 1, 1]
    """
    batch, _, queries, keys = shape
    blocks = mask.blocks(shape, (_BLOCK, _BLOCK), device=device)
    size = (batch, 1, -1, -1)
    full = blocks.full.expand(size)
    partial = ~(blocks.ruled_out.expand(size) | full)
    return BlockMask.from_kv_blocks(
        *_listed(partial), *_listed(full), _BLOCK, _pairs(mask, shape, device), (queries, keys)
    )


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Of each row of blocks how many are meant, and which, those first: [B, 1, t, s] -> [B, 1, t], [B, 1, t, s]."""
    order = blocks.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=torch.int32), order.to(torch.int32)


def _pairs(mask: Mask, shape: Shape, device: torch.device) -> Callable[..., Tensor]:
    """The mask as a function of batch, head, query and key. Bounds are tensors: one compiled kernel serves them all."""
    batch, _, queries, keys = shape
    lengths, first, last, _ = mask.spans(shape)
    shift = keys - queries
    after = torch.full((1,), -queries - keys if first is None else first + shift, device=device)
    until = torch.full((1,), keys if last is None else last + shift, device=device)
    end = torch.full((batch,), keys, device=device) if lengths is None else lengths.to(device)

    def pairs(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (key < end[batch]) & (key > query + after[0]) & (key <= query + until[0])

    return pairs


def _has_kernel(query: Tensor, key: Tensor, value: Tensor) -> bool:
    half = query.dtype in (torch.float16, torch.bfloat16) and query.dtype == key.dtype == value.dtype
    widths = query.shape[3] in _WIDTHS and value.shape[3] in _WIDTHS
    return half and widths and runnable(query, key, value) and capability(query.device) >= _CAPABILITY


def _kind(query: Tensor, value: Tensor) -> object:
    return query.dtype, query.shape[3], value.shape[3]


@functools.cache
def _compiled() -> Any:
    return torch.compile(flex_attention)
