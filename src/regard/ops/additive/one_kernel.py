"""Conditions for harmonic attention in one kernel, which makes the features in registers.

Features that lie in memory are written once and read by many: with 2,048 keys that is nothing, with 512 it is 40% of
the time. Made anew for every tile of 128 queries and 256 keys they cost little beside the products that wait for them,
and only where a program has one tile are there registers for both.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.inner_product.sdpa import capability
from regard.ops.kernels import runnable

_KEYS = 512
_UNITS = 16
_VALUES = 128
_TRITON = (3, 6)
"""Whose Gluon the kernel is written in: it is experimental, and changes from one version to the next."""


def reads(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> bool:
    """Return whether the kernel can read this: bfloat16, up to 512 keys, 16 n units, no dense mask, on Hopper."""
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    if not all(tensor.dtype == torch.bfloat16 for tensor in (query, key, value)) or not runnable(query, key, value):
        return False
    sizes = 0 < keys <= _KEYS and queries > 0 and batch * heads > 0 and width > 0 and width % _UNITS == 0
    if not sizes or not 0 < value.shape[3] <= _VALUES or not (_is_even(query) and _is_even(key)):
        return False
    spans = None if mask is None else mask.spans((batch, heads, queries, keys))
    return (spans is None or spans.rest is None) and capability(query.device)[0] == 9 and _has_gluon()


def _is_even(rows: Tensor) -> bool:
    """Return whether units lie next to each other, and rows begin at multiples of 16 bytes."""
    *strides, last = rows.stride()
    return last == 1 and rows.data_ptr() % 16 == 0 and all(stride % 8 == 0 for stride in strides)


@functools.cache
def _has_gluon() -> bool:
    import triton

    return tuple(map(int, triton.__version__.split(".")[:2])) == _TRITON and not triton.knobs.runtime.interpret
