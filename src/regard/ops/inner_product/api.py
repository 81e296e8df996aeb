"""Public function of attention over inner products: argument checks and dispatch."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.checks import raise_unsupported
from regard.ops.inner_product.banded import BANDED, FLASH_WINDOW
from regard.ops.inner_product.cpu_short import CPU_SHORT
from regard.ops.inner_product.flex_attention import FLEX_ATTENTION
from regard.ops.inner_product.read import Exact, ReadArguments, inner_product
from regard.ops.inner_product.sdpa import SDPA
from regard.ops.inner_product.short_reads import SHORT_READS
from regard.ops.softmax import softmax_attention, statistics_dtype

_OFFERS = (CPU_SHORT, SHORT_READS, FLEX_ATTENTION, FLASH_WINDOW, BANDED, SDPA)
"""In the order in which they are asked whether a read is theirs; the last takes every read."""

_BY_NAME = {one.name: one for one in _OFFERS}

IMPLEMENTATIONS = ("reference", SDPA.name)
"""Names of those that compute every read."""

CONDITIONAL = (BANDED.name, CPU_SHORT.name)
"""Names of those that compute some reads, on any machine."""

KERNELS = (FLASH_WINDOW.name, FLEX_ATTENTION.name, SHORT_READS.name)
"""Names of those that need a GPU."""

_CAUSAL = Mask.causal()


def may_round(impl: str | None, query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return whether a kernel may round the inner products: all tensors have the same half-precision dtype."""
    same = query.dtype == key.dtype == value.dtype
    return impl != "reference" and same and query.dtype != statistics_dtype(query.dtype)


def dot_product_attention(
    mechanism: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None,
    *,
    scale: float,
    dropout: float,
    impl: str | None,
    exact: Exact | None = None,
) -> Attended:
    """Compute softmax(scale q.k) value by the named implementation, or by the fastest.

    The context has the dtype of `value`. Kernels require a single dtype, so they run in the widest of the three. If the
    caller rounded query and key for speed, `exact` holds the unrounded ones, which the weights are computed from.
    """
    Mask.check(mask)
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    if impl == "reference" or keys == 0:  # nothing for a kernel to do, and not all of them accept it
        attended = softmax_attention(inner_product(query, key, scale), value, mask, dropout=dropout)
        attended.impl = impl or "reference"
        return attended
    if mask is not None and queries == 1 and mask == _CAUSAL:
        mask = None  # the last query sees every key
    # Not `causal = ...`: of symbols it would be a symbol, which no kernel takes.
    causal = True if mask is not None and queries == keys and mask == _CAUSAL else False  # noqa: SIM210
    dtype, exact = value.dtype, exact or _unrounded(query, key, scale)
    mixed = not query.dtype == key.dtype == dtype
    if mixed:
        widest = torch.promote_types(torch.promote_types(query.dtype, key.dtype), dtype)
        query, key, value = query.to(widest), key.to(widest), value.to(widest)
    read = ReadArguments(
        query, key, value, mask, (batch, heads, queries, keys), scale, dropout, causal, dtype, mixed, exact
    )
    if impl is not None:
        return _by_name(mechanism, impl, read)
    if torch.compiler.is_compiling():  # a compiler chooses itself what is behind the fused operation
        return SDPA.attend(read)
    for one in _OFFERS:
        found = one.offer(read)
        if found is not None:
            return found
    raise AssertionError("the last implementation takes every read")


def _unrounded(query: Tensor, key: Tensor, scale: float) -> Exact:
    return lambda: (query, key, scale)


def _by_name(mechanism: str, impl: str, read: ReadArguments) -> Attended:
    one = _BY_NAME[impl]
    reason = one.refusal(read)
    if reason is not None:
        raise_unsupported(mechanism, impl, reason)
    return one.attend(read)
