"""PyTorch's FlexAttention for long sequences under masks of spans: padding, a window, or both.

The kernels behind `F.scaled_dot_product_attention` compute all pairs and discard those that a mask forbids.
FlexAttention skips empty blocks of 128 x 128 pairs and applies no mask in full ones. It is compiled on its first call,
which takes some seconds, and has a larger overhead per call from Python. This pays off from 2²⁸ pairs over all heads in
eager mode, and from 2²⁵ in a CUDA graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks import Mask, MaskSpans, Shape
from regard.ops.attended import Attended
from regard.ops.inner_product.read import Implementation, ReadArguments
from regard.ops.inner_product.sdpa import capability
from regard.ops.kernels import kernel_obstacle, kernels_supported

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_BLOCK = 128
_PAIRS = 1 << 28
_PAIRS_RECORDED = 1 << 25
_CAPABILITY = (9, 0)
_WIDTHS = (16, 32, 64, 128)
_HALF = (torch.float16, torch.bfloat16)
_KINDS = 16
"""Dtypes, widths and windows that are compiled, at most, each four times: for one shape and for all, with gradients and
without. PyTorch stops at eight, and then computes every pair."""

_compiled_kinds: set[object] = set()


def flex_fits(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, shape: Shape) -> bool:
    """Return whether FlexAttention is fastest: a long sequence under spans, in half precision, on a suitable GPU."""
    batch, heads, queries, keys = shape
    fewest = _PAIRS_RECORDED if is_recording() else _PAIRS
    if mask is None or batch * heads * queries * keys < fewest or not _has_kernel(query, key, value):
        return False
    spans = mask.spans(shape)
    kind = _kind(query, value, spans)
    return spans.rest is None and (kind in _compiled_kinds or len(_compiled_kinds) < _KINDS)


def attention_in_spans(query: Tensor, key: Tensor, value: Tensor, mask: Mask, shape: Shape, *, scale: float) -> Tensor:
    """Compute softmax(scale q.k) value under a mask of spans, [B, H, T, Dv]; requires `flex_fits`."""
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    _compiled_kinds.add(_kind(query, value, mask.spans(shape)))
    pattern = mask.once((BlockMask, shape, query.device), lambda mask: block_mask(mask, shape, query.device))
    if torch.compiler.is_compiling():
        return flex_attention(query, key, value, block_mask=pattern, scale=scale)
    with torch._dynamo.config.patch(recompile_limit=4 * _KINDS):
        return cast(Tensor, _compiled()(query, key, value, block_mask=pattern, scale=scale))


def block_mask(mask: Mask, shape: Shape, device: torch.device) -> BlockMask:
    """Convert a mask of spans to the block mask of FlexAttention.

    >>> mask = Mask.causal() & Mask.padding([200])
    >>> pattern = block_mask(mask, (1, 1, 384, 384), torch.device("cpu"))
    >>> pattern.to_dense()[0, 0].tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    >>> pattern.full_kv_num_blocks[0, 0].tolist()
    [0, 1, 1]
    """
    from torch.nn.attention.flex_attention import BlockMask

    batch, _, queries, keys = shape
    blocks = mask.blocks(shape, (_BLOCK, _BLOCK), device=device)
    size = (batch, 1, -1, -1)
    full = blocks.full.expand(size)
    partial = ~(blocks.ruled_out.expand(size) | full)
    return BlockMask.from_kv_blocks(
        *_listed(partial), *_listed(full), _BLOCK, _pairs(mask, shape, device), (queries, keys)
    )


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Return number and sorted indices of the marked blocks per row: [B, 1, t, s] -> [B, 1, t], [B, 1, t, s]."""
    order = blocks.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=torch.int32), order.to(torch.int32)


def _pairs(mask: Mask, shape: Shape, device: torch.device) -> Callable[..., Tensor]:
    """Return the mask as a function of batch, head, query and key; the bounds of a window become constants."""
    _, _, queries, keys = shape
    lengths, first, last, _ = mask.spans(shape)
    shift = keys - queries
    after, until = -queries if first is None else first + shift, keys if last is None else last + shift
    if lengths is None:
        return lambda batch, head, query, key: (key > query + after) & (key <= query + until)
    ends = lengths.to(device)
    if first is None and last is None:
        return lambda batch, head, query, key: key < ends[batch]
    return lambda batch, head, query, key: (key < ends[batch]) & (key > query + after) & (key <= query + until)


def offer(read: ReadArguments) -> Attended | None:
    """Attend for long sequences under a mask of spans; FlexAttention has no dropout."""
    if read.mask is None or read.causal or read.dropout:
        return None
    return attend(read) if flex_fits(read.query, read.key, read.value, read.mask, read.shape) else None


def refusal(read: ReadArguments) -> str | None:
    """Return the obstacle: it needs a GPU, half precision, a mask of spans and no dropout."""
    query, value, mask = read.query, read.value, read.mask
    if read.dropout:
        return f"has no dropout; got {read.dropout}"
    if mask is None or mask.spans(read.shape).rest is not None:
        return "needs a mask of padding, windows or both"
    reason = kernel_obstacle(query.device, query.dtype, _HALF)
    if reason is None and not _has_kernel(query, read.key, value):
        reason = (
            f"needs a GPU of capability {_CAPABILITY[0]}.{_CAPABILITY[1]} and widths of {', '.join(map(str, _WIDTHS))}"
        )
    return reason


def attend(read: ReadArguments) -> Attended:
    """Attend within the blocks that the mask allows."""
    assert read.mask is not None, "refusal asks for a mask"
    context = attention_in_spans(read.query, read.key, read.value, read.mask, read.shape, scale=read.scale)
    return read.attended(context, FLEX_ATTENTION.name)


FLEX_ATTENTION = Implementation("flex_attention", offer, refusal, attend)


def _has_kernel(query: Tensor, key: Tensor, value: Tensor) -> bool:
    half = query.dtype in _HALF and query.dtype == key.dtype == value.dtype
    widths = query.shape[3] in _WIDTHS and value.shape[3] in _WIDTHS
    return half and widths and kernels_supported(query, key, value) and capability(query.device) >= _CAPABILITY


def _kind(query: Tensor, value: Tensor, spans: MaskSpans) -> object:
    return query.dtype, query.shape[3], value.shape[3], spans.lengths is None, spans.first, spans.last


@functools.cache
def _compiled() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention)
