"""Softmax attention over inner products by the fastest way there is; shared by dot, scaled dot, bilinear, cosine."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.cuda_capture import is_recording
from regard.masks import Mask, Shape
from regard.ops.attended import Attended
from regard.ops.banded import Band, windowed_attention
from regard.ops.flex_attention import attention_in_spans, flex_fits
from regard.ops.sdpa_backends import fused_attention
from regard.ops.short_reads import short_attention, short_fits
from regard.ops.softmax import (
    HELD_PAIRS,
    finite_softmax,
    full_precision,
    masked_softmax,
    softmax_attention,
    statistics_dtype,
    whole_rows,
)
from regard.ops.weights import Held, Weigh

Exact = Callable[[], tuple[Tensor, Tensor, float]]
"""Queries and keys as they were before they were rounded, and the scale of their products."""

_CAUSAL = Mask.causal()

# On a CPU the fused kernel loses where it has many heads of few pairs each, and wins again where the whole read is so
# small that the number of operations counts: with gradients there are more of these.
_PAIRS_OF_A_SHORT_HEAD = 1 << 10
_LEAST_HEADS_OF_ONE_QUERY = 128
_LEAST_PAIRS = 3 << 10
_LEAST_PAIRS_WITH_GRADIENT = 1 << 15


def inner_product(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """scale q.k for every pair, [B, H, T, S]; in float32 for half-precision inputs."""
    statistics = statistics_dtype(query.dtype)
    with full_precision(query):
        return (query.to(statistics) * scale) @ key.to(statistics).mT


def may_round(impl: str | None, query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether a kernel gets what is made of these rounded: all of one half precision, and not for the definition."""
    same = query.dtype == key.dtype == value.dtype
    return impl != "reference" and same and query.dtype != statistics_dtype(query.dtype)


def dot_product_attention(
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
    """softmax(scale q.k) value, by the definition (`"reference"`), fused (`"sdpa"`) or by what is fastest (None).

    The fastest is a kernel of our own for short reads that are recorded on a GPU, FlexAttention for the longest in
    spans, flash attention's own window or a band of blocks for a window much narrower than the memory, the definition
    in as few passes as it takes for reads of a few words on a CPU, and the fused kernel for all others. The context is
    in the dtype of `value`. The fused kernel wants one dtype, so it runs in the widest of the three. If query and key
    were rounded for it, which is several times as fast, `exact` gives them as they were, for the weights.
    """
    Mask.check(mask)
    batch, heads, queries, _ = query.shape
    shape = (batch, heads, queries, key.shape[2])
    if impl == "reference" or key.shape[2] == 0:  # nothing for a kernel to do, and not all of them accept it
        return softmax_attention(inner_product(query, key, scale), value, mask, dropout=dropout)
    if mask is not None and queries == 1 and mask == _CAUSAL:
        mask = None  # the last query sees every key
    # Not `causal = ...`: of symbols it would be a symbol, which no kernel takes.
    causal = True if mask is not None and queries == key.shape[2] and mask == _CAUSAL else False  # noqa: SIM210
    if torch.compiler.is_compiling():  # which chooses itself
        impl = "sdpa"
    if impl is None and not causal and _is_short(query, key, value):  # the kernel is causal without a mask
        return _short(query, key, value, mask, shape, scale=scale, dropout=dropout)
    band = None if causal or impl is not None else Band.of(mask, shape)
    dtype = value.dtype
    weigh = _rebuilt(exact or _given(query, key, scale), mask, shape)
    if not query.dtype == key.dtype == dtype:
        widest = torch.promote_types(torch.promote_types(query.dtype, key.dtype), dtype)
        query, key, value = query.to(widest), key.to(widest), value.to(widest)
    if impl is None and short_fits(query, key, value, mask, shape):
        context = short_attention(query, key, value, mask, shape, scale=scale, dropout=dropout)
    elif impl is None and not causal and not dropout and flex_fits(query, key, value, mask, shape):
        assert mask is not None
        context = attention_in_spans(query, key, value, mask, shape, scale=scale)
    elif band is not None:
        context = windowed_attention(query, key, value, band, scale=scale, dropout=dropout)
    else:
        rest = None if causal else mask
        context = _fused(query, key, value, rest, shape, causal=causal, scale=scale, dropout=dropout)
    return Attended(context.to(dtype), weigh, shape)


def _is_short(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether this is a read of a few words in many heads on a CPU, in full precision, which autocast leaves alone."""
    if (
        not query.is_cpu
        or torch.is_autocast_enabled("cpu")
        or not query.dtype == key.dtype == value.dtype == statistics_dtype(query.dtype)
    ):
        return False
    batch, heads, queries, _ = query.shape
    pairs = queries * key.shape[2]
    if queries > 1 and pairs > _PAIRS_OF_A_SHORT_HEAD:
        return False
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        return batch * heads * pairs >= _LEAST_PAIRS_WITH_GRADIENT
    return batch * heads >= _LEAST_HEADS_OF_ONE_QUERY if queries == 1 else batch * heads * pairs >= _LEAST_PAIRS


def _short(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, shape: Shape, *, scale: float, dropout: float
) -> Attended:
    """The definition in as few operations as it takes; `_is_short` says when."""
    energy = torch.baddbmm(query.new_empty(1, 1, 1), query.flatten(0, 1), key.flatten(0, 1).mT, beta=0, alpha=scale)
    weights = energy.softmax(-1) if mask is None else finite_softmax(energy.view(shape), mask, shape).flatten(0, 1)
    context = torch.bmm(F.dropout(weights, dropout) if dropout else weights, value.flatten(0, 1))
    return Attended(context.view(*shape[:3], -1), Held(weights.view(shape)), shape)


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None,
    shape: Shape,
    *,
    causal: bool,
    scale: float,
    dropout: float,
) -> Tensor:
    if mask is None:
        return fused_attention(query, key, value, causal=causal, scale=scale, dropout=dropout)
    given, empty = _known_bias(mask, shape, query)
    context = fused_attention(query, key, value, given, scale=scale, dropout=dropout)
    return context if empty is None else context.masked_fill(empty, 0.0)


def _known_bias(mask: Mask, shape: Shape, query: Tensor) -> tuple[Tensor, Tensor | None]:
    """What a mask adds to energies, and the rows to erase, made once for the layers that read by it.

    Booleans where it would be large, and while windows are recorded: a causal mask may outlive what is recorded.
    """
    if mask.by_place and (is_recording() or shape[0] * shape[2] * shape[3] > HELD_PAIRS):
        forbidden, empty = whole_rows(mask, shape, query.device)
        return ~forbidden, empty
    return mask.latest(_bias, (shape, query.device, query.dtype), lambda: _bias(mask, shape, query))


def _bias(mask: Mask, shape: Shape, query: Tensor) -> tuple[Tensor, Tensor | None]:
    """0 or -inf, and the rows to erase. PyTorch makes it of booleans too, but at every read."""
    forbidden, empty = whole_rows(mask, shape, query.device)
    keys = forbidden.shape[3]
    # Rows begin at multiples of eight entries, where kernels want them: PyTorch copies others at every read.
    room = keys + -keys % 8 if query.is_cuda else keys
    bias = query.new_zeros(*forbidden.shape[:3], room).narrow(3, 0, keys)
    return bias.masked_fill_(forbidden, -torch.inf), empty


def _given(query: Tensor, key: Tensor, scale: float) -> Exact:
    return lambda: (query, key, scale)


def _rebuilt(exact: Exact, mask: Mask | None, shape: Shape) -> Weigh:
    """The weights of any heads and rows. A row is made whole, so its softmax needs no log-sum-exp."""

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        query, key, scale = exact()
        chosen = query.index_select(1, head).index_select(2, row)
        energy = inner_product(chosen, key.index_select(1, head), scale)
        if mask is not None:
            energy = energy.masked_fill(~mask.allowed(shape, heads=head, rows=row, device=energy.device), -torch.inf)
        return masked_softmax(energy)

    return weigh
