"""PyTorch's fused attention by the fastest of its backends.

`F.scaled_dot_product_attention` has several kernels behind it and takes the first that can, in an order of its own,
which is not the order of their speed. The rule here, per call:

| device | dtype it runs in | mask | pairs T·S | order |
|---|---|---|---|---|
| CUDA, capability 9.0 on | float16, bfloat16 | none, causal | 512² or more | cuDNN, flash, memory-efficient, plain |
| any other | any | any | any | PyTorch's own |

cuDNN builds a plan for every new shape. A large read earns it back in a few steps; reads of a few hundred words, whose
shape differs from batch to batch, never do. A backend that cannot take a call (width, determinism, hardware) is passed
over by PyTorch, so that an order is never a demand.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

_BY_SPEED = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
_CAPABILITY = (9, 0)
_PAIRS = 512 * 512


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
    """softmax(scale q.k) value by the fastest backend: [B, H, T, D], [B, H, S, D], [B, H, S, Dv] -> [B, H, T, Dv].

    Args:
        query: of one dtype with key and value.
        key: likewise.
        value: likewise.
        allowed: booleans that broadcast to [B, H, T, S], a True in every row; None for everything.
        causal: the first query sees the first key, the next one more, and so on; without `allowed`.
        scale: of the inner products.
        dropout: probability of dropping a weight.

    >>> ones = torch.ones(1, 1, 2, 3)
    >>> fused_attention(ones, ones, ones.cumsum(2), causal=True, scale=1.0)[0, 0, :, 0]
    tensor([1.0, 1.5])
    """
    with _order(query, key, masked=allowed is not None):
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed, is_causal=causal, scale=scale, dropout_p=dropout
        )


def backends(
    capability: tuple[int, int] | None, dtype: torch.dtype, *, pairs: int, masked: bool
) -> list[SDPBackend] | None:
    """The rule as a function: the order to try, or None for PyTorch's own; `capability` is None off CUDA.

    >>> backends((9, 0), torch.bfloat16, pairs=4096 * 4096, masked=False)[0].name
    'CUDNN_ATTENTION'
    >>> backends((8, 0), torch.bfloat16, pairs=4096 * 4096, masked=False) is None
    True
    """
    half = dtype in (torch.float16, torch.bfloat16)
    new = capability is not None and capability >= _CAPABILITY
    return _BY_SPEED if new and half and not masked and pairs >= _PAIRS else None


def _order(query: Tensor, key: Tensor, *, masked: bool) -> AbstractContextManager[None]:
    if query.device.type != "cuda":
        return nullcontext()
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else query.dtype
    pairs = query.shape[2] * key.shape[2]
    order = backends(torch.cuda.get_device_capability(query.device), dtype, pairs=pairs, masked=masked)
    return nullcontext() if order is None else sdpa_kernel(order, set_priority=True)
