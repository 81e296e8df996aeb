"""PyTorch's fused attention with the fastest of its backends, under any mask.

`F.scaled_dot_product_attention` uses the first of its backends that supports a call, in a fixed order that is not the
order of their speed. The order used here, per call:

| device | dtype it runs in | read | order |
|---|---|---|---|
| CUDA, capability 9.0 | half | 512² pairs T·S or more | cuDNN, flash, memory-efficient, plain |
| CUDA | float32 | one query, or up to 1,024 pairs with gradients | plain |
| CUDA | half | up to 1,024 pairs with gradients, more than 256 wide | plain |
| CUDA, capability 9.0 | half | up to 1,024 pairs, up to 64 wide | memory-efficient, flash, cuDNN, plain |
| CUDA, capability 9.0 | half | up to 1,024 pairs, up to 256 wide | flash, memory-efficient, cuDNN, plain |
| CUDA, capability 9.0 | half | the same with gradients | flash, cuDNN, memory-efficient, plain |
| any other | any | any | PyTorch's own |

In eager mode, reads of up to 1,024 pairs and 256 channels use PyTorch's order without cuDNN (see below).

The orders of capability 9.0 apply to that capability only: on others cuDNN is reported slower than flash attention
(0.82 times on an A100, 0.88 on an RTX of the following generation).

Rows two and three occur in step-by-step decoding. On an H200 the plain backend takes half the time of the
memory-efficient kernel there, forward and backward. In row four, for 64 sequences of 32 tokens with 8 heads, the
memory-efficient kernel takes 11 µs, 34 with gradients; cuDNN, PyTorch's choice, 16 and 45; flash 17 and 77. In the next
two rows, with a single head of 256, flash takes 10 µs, 42 with gradients; memory-efficient 12 and 107; cuDNN 15 and 49;
plain 88 with gradients. Under padding, which flash lacks, memory-efficient takes 20 and 115, cuDNN 26 and 63.

These are GPU times in a CUDA graph. In eager mode, a read of up to 1,024 pairs is bound by kernel launches: any single
kernel is faster than the six of the plain backend, and setting an order takes longer than the kernel. PyTorch's order
without cuDNN is used there.

cuDNN builds a plan for every new shape. For large reads this pays off in a few steps; for reads of a few hundred tokens
with varying shapes it never does. PyTorch skips a backend that does not support a call (width, determinism, hardware),
so an order is a preference.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.cuda_capture import is_recording
from regard.masks import Mask, Shape
from regard.ops.attended import Attended
from regard.ops.inner_product.read import Implementation, ReadArguments
from regard.ops.softmax import HELD_PAIRS, forbidden_pairs

_LARGE = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
_SHORT = [
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.MATH,
]
_SHORT_WIDE = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.MATH,
]
_SHORT_WIDE_LEARNED = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
_CAPABILITY = (9, 0)
_PAIRS = 512 * 512
_FEW_PAIRS = 1024
_NARROW, _WIDE = 64, 256


@dataclass(frozen=True)
class ReadSize:
    """Size of a read: numbers of queries and keys, width of a head, and whether gradients are needed."""

    queries: int
    keys: int
    width: int
    differentiable: bool = False


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None = None,
    *,
    causal: bool = False,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """Compute softmax(scale q.k) value by the fastest backend, [B, H, T, Dv].

    Args:
        query: [B, H, T, D], of the same dtype as key and value.
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        allowed: booleans that broadcast to [B, H, T, S], with a True in every row, or an additive bias of 0 and -inf;
            None for no mask.
        causal: query t sees keys 0 to t; without `allowed`.
        scale: factor of the inner products.
        dropout: probability of dropping a weight.

    >>> ones = torch.ones(1, 1, 2, 3)
    >>> fused_attention(ones, ones, ones.cumsum(2), causal=True, scale=1.0)[0, 0, :, 0]
    tensor([1.0, 1.5])
    """
    if not query.is_cuda or torch.compiler.is_compiling():
        return F.scaled_dot_product_attention(query, key, value, allowed, dropout, causal, scale=scale)
    query, key, value = aligned(query), aligned(key), aligned(value)
    with _order(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, allowed, dropout, causal, scale=scale)


def aligned(tensor: Tensor) -> Tensor:
    """Copy a tensor whose rows are not aligned to 16 bytes, which some kernels require; compilers align by themselves.

    >>> row = torch.arange(9.0)
    >>> aligned(row[:8]).data_ptr() == row.data_ptr(), aligned(row[1:]).data_ptr() % 16
    (True, 0)
    """
    if torch.compiler.is_compiling() or (tensor.data_ptr() % 16 == 0 and (tensor.is_contiguous() or _even(tensor))):
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


def _even(tensor: Tensor) -> bool:
    """Return whether rows are contiguous and aligned to 16 bytes, given an aligned first row."""
    *strides, last = tensor.stride()
    return last == 1 and all(stride * tensor.element_size() % 16 == 0 for stride in strides)


def backends(capability: tuple[int, int] | None, dtype: torch.dtype, size: ReadSize) -> list[SDPBackend] | None:
    """Return the order of backends by the table above, None for PyTorch's order; `capability` is None without CUDA.

    >>> backends((9, 0), torch.bfloat16, ReadSize(4096, 4096, 64))[0].name
    'CUDNN_ATTENTION'
    >>> backends((9, 0), torch.bfloat16, ReadSize(32, 32, 64))[0].name
    'EFFICIENT_ATTENTION'
    >>> backends((8, 0), torch.float32, ReadSize(1, 30, 512))[0].name
    'MATH'
    >>> backends((8, 0), torch.bfloat16, ReadSize(4096, 4096, 64)) is None
    True
    """
    if capability is None:
        return None
    half = dtype in (torch.float16, torch.bfloat16)
    pairs = size.queries * size.keys
    short = size.differentiable and pairs <= _FEW_PAIRS
    if (short and (not half or size.width > _WIDE)) or (not half and size.queries == 1):
        return [SDPBackend.MATH]
    if not half or capability != _CAPABILITY:
        return None
    if pairs <= _FEW_PAIRS and size.width <= _NARROW:
        return _SHORT
    if pairs <= _FEW_PAIRS and size.width <= _WIDE:
        return _SHORT_WIDE_LEARNED if size.differentiable else _SHORT_WIDE
    return _LARGE if pairs >= _PAIRS else None


class _WithoutCudnn:
    """Context with PyTorch's order without cuDNN; a hundred times faster to enter than `sdpa_kernel`."""

    def __enter__(self) -> None:
        self._before = torch.backends.cuda.cudnn_sdp_enabled()
        torch.backends.cuda.enable_cudnn_sdp(False)

    def __exit__(self, *_: object) -> None:
        torch.backends.cuda.enable_cudnn_sdp(self._before)


def _order(query: Tensor, key: Tensor, value: Tensor) -> AbstractContextManager[None]:
    few = query.shape[2] * key.shape[2] <= _FEW_PAIRS and query.shape[3] <= _WIDE
    if few and not is_recording():
        return _WithoutCudnn()
    differentiable = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value))
    size = ReadSize(query.shape[2], key.shape[2], query.shape[3], differentiable)
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else query.dtype
    order = backends(capability(query.device), dtype, size)
    return nullcontext() if order is None else sdpa_kernel(order, set_priority=True)


@functools.cache
def capability(device: torch.device) -> tuple[int, int]:
    """Return the compute capability of a GPU, cached."""
    return torch.cuda.get_device_capability(device)


def attend(read: ReadArguments) -> Attended:
    """Attend by the fused operation with the mask as bias; contexts of fully masked rows are set to zero."""
    query, key, value, mask = read.query, read.key, read.value, read.mask
    if mask is None or read.causal:
        context = fused_attention(query, key, value, causal=read.causal, scale=read.scale, dropout=read.dropout)
        return read.attended(context, SDPA.name)
    bias, empty = _known_bias(mask, read.shape, query)
    context = fused_attention(query, key, value, bias, scale=read.scale, dropout=read.dropout)
    return read.attended(context if empty is None else context.masked_fill(empty, 0.0), SDPA.name)


SDPA = Implementation("sdpa", attend, lambda read: None, attend)


def _known_bias(mask: Mask, shape: Shape, query: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the additive bias of a mask and its fully masked rows, cached for all layers that use the mask.

    Large masks, and windows during graph capture, stay boolean: a cached mask may outlive the memory of the graph.
    """
    if mask.by_position and (is_recording() or shape[0] * shape[2] * shape[3] > HELD_PAIRS):
        forbidden, empty = forbidden_pairs(mask, shape, query.device)
        return ~forbidden, empty
    return mask.latest(_bias, (shape, query.device, query.dtype), lambda: _bias(mask, shape, query))


def _bias(mask: Mask, shape: Shape, query: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return a bias of 0 and -inf [B, H, T, S], and the fully masked rows. PyTorch would convert booleans per call."""
    forbidden, empty = forbidden_pairs(mask, shape, query.device)
    keys = forbidden.shape[3]
    # Rows begin at multiples of eight entries, where kernels want them: PyTorch copies others at every read.
    room = keys + -keys % 8 if query.is_cuda else keys
    bias = query.new_zeros(*forbidden.shape[:3], room).narrow(3, 0, keys)
    return bias.masked_fill_(forbidden, -torch.inf), empty
