"""Attention in few operations, for short sequences with many heads on a CPU."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from regard.ops.attended import Attended
from regard.ops.inner_product.read import Implementation, ReadArguments
from regard.ops.softmax import finite_softmax, statistics_dtype
from regard.ops.weights import StoredWeights

# On a CPU the fused kernel loses where it has many heads of few pairs each, and wins again where the whole read is so
# small that the number of operations counts: with gradients there are more of these.
_PAIRS_OF_A_SHORT_HEAD = 1 << 10
_LEAST_HEADS_OF_ONE_QUERY = 128
_LEAST_PAIRS = 3 << 10
_LEAST_PAIRS_WITH_GRADIENT = 1 << 15


def refusal(read: ReadArguments) -> str | None:
    """Return the obstacle: it runs on a CPU, in full precision, without autocast."""
    query = read.query
    if not query.is_cpu:
        return f"needs tensors on a CPU; got {query.device}"
    if query.dtype != statistics_dtype(query.dtype):
        return f"needs float32 or float64; got {query.dtype}"
    return "needs autocast to be off" if torch.is_autocast_enabled("cpu") else None


def offer(read: ReadArguments) -> Attended | None:
    """Attend if the fused kernel would take longer; that kernel supports a causal mask without a tensor."""
    query, key, value = read.query, read.key, read.value
    if not query.is_cpu or read.causal or read.mixed or query.dtype != statistics_dtype(query.dtype):
        return None
    batch, heads, queries, keys = read.shape
    pairs = queries * keys
    if (queries > 1 and pairs > _PAIRS_OF_A_SHORT_HEAD) or torch.is_autocast_enabled("cpu"):
        return None
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        enough = batch * heads * pairs >= _LEAST_PAIRS_WITH_GRADIENT
    elif queries == 1:
        enough = batch * heads >= _LEAST_HEADS_OF_ONE_QUERY
    else:
        enough = batch * heads * pairs >= _LEAST_PAIRS
    return attend(read) if enough else None


def attend(read: ReadArguments) -> Attended:
    """Attend with one batched product for the energies and one for the contexts."""
    query, key, mask, shape = read.query, read.key, read.mask, read.shape
    # [B * H, T, S]; nothing is added: the first operand is not read with beta = 0.
    energy = torch.baddbmm(
        query.new_empty(1, 1, 1), query.flatten(0, 1), key.flatten(0, 1).mT, beta=0, alpha=read.scale
    )
    weights = energy.softmax(-1) if mask is None else finite_softmax(energy.view(shape), mask, shape).flatten(0, 1)
    given = F.dropout(weights, read.dropout) if read.dropout else weights
    context = torch.bmm(given, read.value.flatten(0, 1)).view(*shape[:3], -1)  # [B, H, T, Dv]
    return Attended(context.to(read.dtype), StoredWeights(weights.view(shape)), shape, impl=CPU_SHORT.name)


CPU_SHORT = Implementation("cpu_short", offer, refusal, attend)
