"""Public functions of additive attention: argument checks and dispatch to an implementation."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks import Mask
from regard.ops.additive import blocked, cpu_sigmoid, reference, short_reads
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl, check_reading, check_weight, raise_unsupported
from regard.ops.kernels import kernels_supported

CARD = Card(
    name="additive",
    family="score",
    equation="e = vᵀ tanh(W q + U k)",
    paper="Bahdanau, Cho & Bengio 2015, sec. A.1.2",
    cost="T·S·A tanh; T·S·A + T·S·Dv",
    op="additive_attention",
    module="Additive",
    implementations=("reference", "blocked"),
    conditional=("cpu_sigmoid",),
    kernels=("fused", "short_reads", "harmonic"),  # harmonic is approximate, so it is never chosen automatically
)

_WIDE = (torch.float32, torch.float64)

WITHOUT_DROPOUT = ("blocked", *CARD.kernels)
"""Implementations that cannot drop weights."""

# Up to this many elements of [B, H, T, S, A] the definition is as fast, and its memory does not matter. Kernels take
# longer to be called from Python than small reads take, but not where they are recorded; a tile has 16 queries.
_SMALL_ON_CPU = 1 << 20
_SMALL_ELSEWHERE = 1 << 26
_SMALL_RECORDED = 1 << 22
_QUERIES_OF_A_TILE = 16


def additive_score(
    query: Tensor,
    key: Tensor,
    weight: Tensor,
    *,
    features: Tensor | None = None,
    feature_weight: Tensor | None = None,
    impl: str | None = None,
) -> Tensor:
    """Compute the energies of additive attention, for aligners other than the softmax.

    Args: as in `additive_attention`.

    Returns:
        Energies [B, H, T, S], in float32 for half-precision inputs.

    >>> import torch
    >>> additive_score(torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 3, 2), torch.ones(1, 2))   # 2 tanh 1
    tensor([[[[1.52, 1.52, 1.52]]]])
    """
    check_impl("additive", CARD.implementations, impl)
    _check_weights(query, key, weight, features, feature_weight)
    if impl is None:
        impl = "reference" if torch.compiler.is_compiling() or _is_small(query, key) else "blocked"
    score = reference.score if impl == "reference" else blocked.score
    return score(query, key, weight, features=features, feature_weight=feature_weight)


def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None = None,
    *,
    features: Tensor | None = None,
    feature_weight: Tensor | None = None,
    dropout: float = 0.0,
    impl: str | None = None,
    tolerance: float | None = None,
    span: float | None = None,
) -> Attended:
    r"""Additive (MLP) attention: energies from a one-layer network of query and key.

    .. math:: e_{ts} = v^\top \tanh(q_t + k_s + P f_{ts}), \quad a_t = \mathrm{softmax}(e_t), \quad
              c_t = \sum_s a_{ts}\, \mathrm{value}_s

    `query` and `key` are the *projected* vectors W s_{i-1} and U h_j of the paper, so that each key is projected once
    for all queries. Further terms (position, Markov condition, fertility, ...) enter inside the tanh as `features`.

    Args:
        query: [B, H, T, A].
        key: [B, H, S, A].
        value: [B, H, S, Dv].
        weight: [H, A], v of each head.
        mask: what may be attended; None for everything.
        features: [B, H or 1, T, S, F], or None.
        feature_weight: [H, A, F], with `features` only.
        dropout: probability of dropping a weight; `reference` and `cpu_sigmoid` only, of which None then chooses.
        impl: `"reference"` (the definition, builds [B, H, T, S, A]), `"blocked"` (tiles, any device), `"cpu_sigmoid"`
            (sigmoids for a few words on a CPU; float32 or float64, no features), `"fused"` (tiles in Triton kernels;
            CUDA, float32 or half precision), `"short_reads"` (one kernel each way for up to 64 queries and keys; CUDA,
            no features, padding and windows only), `"harmonic"` (a bounded error, on the tensor cores; CUDA, half
            precision, no features) or None to choose among the first five, which are exact.
        tolerance: `harmonic` only: maximum error of a tanh; None for 1.5 · 2^-8 in bfloat16, 1.5 · 2^-11 in float16.
        span: `harmonic` only: upper bound of all |q + k|, which avoids a measurement and its synchronisation. Queries
            that exceed it, and others of their head, get a context of NaN.

    Returns:
        Attended with context [B, H, T, Dv].

    Raises:
        ValueError: shapes that do not fit, or an implementation that cannot do what is asked.

    Bahdanau, Cho & Bengio 2015, "Neural Machine Translation by Jointly Learning to Align and Translate",
    section A.1.2. There the query is the *previous* decoder state; this op leaves the choice to the model.

    >>> import torch
    >>> q, k = torch.tensor([[[[0.0]]]]), torch.tensor([[[[0.0], [1.0]]]])
    >>> additive_attention(q, k, k, torch.tensor([[1.0]])).weights()   # tanh 0 = 0, tanh 1 = 0.76
    tensor([[[[0.32, 0.68]]]])
    """
    if impl is not None:
        check_impl("additive", CARD.names, impl)
    check_weight("additive", "weight", weight)
    check_reading("additive", query, key, value, width=weight.shape[-1])
    Mask.check(mask)
    _check_weights(query, key, weight, features, feature_weight)
    if impl != "harmonic" and (tolerance is not None or span is not None):
        raise ValueError(f'additive: tolerance and span are for impl="harmonic"; got impl={impl!r}')
    if impl is None:
        impl = _fastest(query, key, value, weight, mask, features=features, dropout=dropout)
    elif (reason := _refusal(impl, query, key, value, weight, mask, features=features, dropout=dropout)) is not None:
        raise_unsupported("additive", impl, reason)
    return _attend(
        impl, query, key, value, weight, mask, features=features, feature_weight=feature_weight, dropout=dropout,
        tolerance=tolerance, span=span,
    )  # fmt: skip


def _attend(
    impl: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    features: Tensor | None,
    feature_weight: Tensor | None,
    dropout: float,
    tolerance: float | None,
    span: float | None,
) -> Attended:
    """Dispatch to one implementation; kernels are imported on first use."""
    if impl == "harmonic":
        from regard.ops.additive import harmonic

        return harmonic.attention(query, key, value, weight, mask, tolerance=tolerance, span=span)
    if impl == "cpu_sigmoid":
        return cpu_sigmoid.attention(query, key, value, weight, mask, dropout=dropout)
    if impl == "reference":
        return reference.attention(
            query, key, value, weight, mask, features=features, feature_weight=feature_weight, dropout=dropout
        )
    if impl == "blocked":
        return blocked.attention(query, key, value, weight, mask, features=features, feature_weight=feature_weight)
    if impl == "short_reads":
        return short_reads.attention(query, key, value, weight, mask)
    from regard.ops.additive import fused

    return fused.attention(query, key, value, weight, mask, features=features, feature_weight=feature_weight)


def _refusal(
    impl: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    features: Tensor | None,
    dropout: float,
) -> str | None:
    """Return the reason why an implementation does not support a call; None if it does or checks the device itself."""
    if dropout and impl in WITHOUT_DROPOUT:
        return f"has no dropout; got {dropout}"
    if features is not None and impl in ("cpu_sigmoid", "harmonic", "short_reads"):
        return "has no features"
    if impl == "short_reads":
        return short_reads.refusal(query, key, value, mask)
    if impl != "cpu_sigmoid":
        return None
    tensors = (query, key, value, weight)
    if query.device.type != "cpu" or query.dtype not in _WIDE or any(one.dtype != query.dtype for one in tensors):
        return f"needs tensors of one dtype on a CPU, float32 or float64; got {query.dtype} on {query.device}"
    return None


def _fastest(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    features: Tensor | None,
    dropout: float,
) -> str:
    """Return the name of the fastest exact implementation."""
    if torch.compiler.is_compiling():  # sizes may be symbolic, and the compiler fuses the reference
        return "reference"
    if features is None and _is_short(query, key, value, weight):
        return "cpu_sigmoid"
    if dropout:
        return "reference"
    small = _is_small(query, key)
    if small and features is None and short_reads.fits(query, key, value, mask):
        return "short_reads"
    recorded = is_recording() and query.shape[2] >= _QUERIES_OF_A_TILE
    if small and not (recorded and query.numel() * key.shape[2] > _SMALL_RECORDED):
        return "reference"
    if kernels_supported(query, key, value):
        return "fused"
    return "reference" if small else "blocked"


def _is_short(query: Tensor, key: Tensor, *others: Tensor) -> bool:
    """Return whether this is a short, non-empty read on a CPU in float32 or float64."""
    if query.device.type != "cpu" or not 0 < query.numel() * key.shape[2] <= _SMALL_ON_CPU:
        return False
    return query.dtype in _WIDE and all(tensor.dtype == query.dtype for tensor in (key, *others))


def _is_small(query: Tensor, key: Tensor) -> bool:
    """Return whether [B, H, T, S, A] is so small that the reference is as fast as tiles."""
    most = _SMALL_ON_CPU if query.device.type == "cpu" else _SMALL_ELSEWHERE
    return query.numel() * key.shape[2] <= most


def _check_weights(
    query: Tensor, key: Tensor, weight: Tensor, features: Tensor | None, feature_weight: Tensor | None
) -> None:
    batch, heads, queries, hidden = query.shape
    if weight.shape != (heads, hidden):
        raise ValueError(f"additive: weight must be [H, A] = {[heads, hidden]}; got {list(weight.shape)}")
    if (features is None) != (feature_weight is None):
        raise ValueError("additive: features and feature_weight come together or not at all")
    if features is None or feature_weight is None:
        return
    wanted = (batch, heads, queries, key.shape[2], feature_weight.shape[-1])
    if features.shape not in (wanted, (batch, 1, *wanted[2:])) or feature_weight.shape[:2] != (heads, hidden):
        raise ValueError(
            f"additive: features must be [B, H or 1, T, S, F] = {list(wanted)} and feature_weight [H, A, F] = "
            f"{[heads, hidden, wanted[-1]]}; got {list(features.shape)} and {list(feature_weight.shape)}"
        )
