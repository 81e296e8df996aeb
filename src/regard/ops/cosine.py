"""Cosine attention with strength (Graves, Wayne & Danihelka 2014)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl, check_reading, check_weight, raise_unsupported
from regard.ops.inner_product import (
    CONDITIONAL,
    IMPLEMENTATIONS,
    KERNELS,
    dot_product_attention,
    inner_product,
    may_round,
)
from regard.ops.softmax import finite_softmax, full_precision, statistics_dtype
from regard.ops.unit_vectors import unit_vectors
from regard.ops.weights import StoredWeights

CARD = Card(
    name="cosine",
    family="score",
    equation="e = β qᵀk / (‖q‖ ‖k‖)",
    paper="Graves, Wayne & Danihelka 2014, eq. 5-6",
    cost="T·S·D + T·S·Dv",
    op="cosine_attention",
    module="Cosine",
    implementations=IMPLEMENTATIONS,
    conditional=(*CONDITIONAL, "one_query"),
    kernels=KERNELS,
)

_SMALLEST_NORM = 1e-6  # lower bound of norms, so that zero vectors have cosine 0, not NaN


def unit(vector: Tensor) -> Tensor:
    """Normalise vectors to unit length, in float32 for half precision; a zero vector stays zero.

    In half precision the squared norm overflows, and a strength of 50 would amplify the rounding error 50 times.
    """
    return F.normalize(vector.to(statistics_dtype(vector.dtype)), dim=-1, eps=_SMALLEST_NORM)


def inverse_length(vector: Tensor, softness: float) -> Tensor:
    """Compute 1 / √(|v|² + ε²) of vectors [..., D]: [...], in float32 for half precision.

    The gradient of a cosine grows with the inverse length of the vector. A softness ε bounds it by 1/ε, and vectors
    much shorter than ε have cosine 0.

    >>> import torch
    >>> inverse_length(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), softness=0.1)
    tensor([ 0.2000, 10.0000])
    """
    return vector.to(statistics_dtype(vector.dtype)).square().sum(-1).add(softness**2).rsqrt()


def cosine_score(query: Tensor, key: Tensor, strength: Tensor | None = None) -> Tensor:
    """e_ts = β_t cos(q_t, k_s): [B, H, T, D], [B, H, S, D], strength [B, H, T] or None for 1 -> [B, H, T, S]."""
    return inner_product(_aim(query, strength), unit(key), 1.0)


def cosine_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    strength: Tensor | None = None,
    mask: Mask | None = None,
    *,
    dropout: float = 0.0,
    impl: str | None = None,
) -> Attended:
    r"""Content-based attention: softmax of cosine similarities, scaled by a strength.

    .. math:: e_{ts} = \beta_t \frac{q_t^\top k_s}{\lVert q_t\rVert \lVert k_s\rVert}, \quad
              a_t = \mathrm{softmax}(e_t), \quad c_t = \sum_s a_{ts}\, \mathrm{value}_s

    Args:
        query: [B, H, T, D].
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        strength: [B, H, T], β > 0 of each query; None for 1.
        mask: what may be attended; None for everything.
        dropout: probability of dropping a weight.
        impl: `"reference"` (the definition), `"sdpa"` (PyTorch's fused kernel), `"banded"` (a window by blocks),
            `"cpu_short"` (a few words on a CPU); on a GPU `"flash_window"` (a window of flash attention),
            `"flex_attention"` (long reads in spans), `"short_reads"` (a few words in one kernel);
            `"one_query"` (one query on a CPU, without gradient); None for the fastest.

    Returns:
        Attended with context [B, H, T, Dv].

    Graves, Wayne & Danihelka 2014, "Neural Turing Machines", equations 5 and 6. Lengths below 1e-6 count as 1e-6,
    so that an empty memory row has cosine 0 instead of NaN. Half-precision inputs are compared in float32, by the fused
    kernel too if there is a strength, which magnifies the rounding of unit vectors.

    >>> import torch
    >>> query, key = torch.tensor([[5.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 7.0]])
    >>> cosine_attention(query[None, None], key[None, None], key[None, None]).weights()   # cosines 1 and 0
    tensor([[[[0.73, 0.27]]]])
    """
    check_impl("cosine", CARD.names, impl)
    check_weight("cosine", "strength", strength)
    check_reading("cosine", query, key, value)
    if strength is not None and strength.shape != query.shape[:3]:
        raise ValueError(f"cosine: strength must be [B, H, T] = {list(query.shape[:3])}; got {list(strength.shape)}")
    if impl == "one_query" and (reason := _no_single_query(query, key, value)):
        raise_unsupported("cosine", impl, reason)
    if impl == "one_query" or (impl is None and _no_single_query(query, key, value) is None):
        return _one_query(_aim(query, strength), key, value, mask, dropout=dropout)
    with full_precision(query):
        if strength is None and may_round(impl, query, key, value):
            long = [unit_vectors(vectors, softness=_SMALLEST_NORM) for vectors in (query, key)]
            return dot_product_attention(
                "cosine", long[0], long[1], value, mask, scale=1.0 / max(1, query.shape[3]), dropout=dropout, impl=impl,
                exact=lambda: (unit(query), unit(key), 1.0),
            )  # fmt: skip
        aimed = _aim(query, strength)  # with a strength the fused kernel too takes unit vectors in float32
        return dot_product_attention("cosine", aimed, unit(key), value, mask, scale=1.0, dropout=dropout, impl=impl)


def _no_single_query(query: Tensor, key: Tensor, value: Tensor) -> str | None:
    """The reason why this is not the read of one query on a CPU that `one_query` computes; None if it is."""
    if not query.is_cpu or query.shape[2] != 1 or not key.shape[2]:
        return f"needs one query and some keys on a CPU; got {query.shape[2]} and {key.shape[2]} on {query.device}"
    if not query.dtype == key.dtype == value.dtype == statistics_dtype(query.dtype):
        return f"needs one dtype, float32 or float64; got {query.dtype}, {key.dtype} and {value.dtype}"
    learned = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    return "needs gradients and autocast to be off" if learned or torch.is_autocast_enabled("cpu") else None


def _one_query(aimed: Tensor, key: Tensor, value: Tensor, mask: Mask | None, *, dropout: float) -> Attended:
    """Energies are divided by the lengths of the keys, so that no key is written again."""
    Mask.check(mask)
    shape = (*aimed.shape[:3], key.shape[2])
    length = torch.linalg.vector_norm(key, dim=-1).clamp_(min=_SMALLEST_NORM)
    energy = torch.bmm(aimed.flatten(0, 1), key.flatten(0, 1).mT).view(shape).div_(length.unsqueeze(2))
    weights = finite_softmax(energy, mask, shape)
    given = F.dropout(weights, dropout) if dropout else weights
    context = torch.bmm(given.flatten(0, 1), value.flatten(0, 1))
    return Attended(context.view(*shape[:3], -1), StoredWeights(weights), shape, impl="one_query")


def _aim(query: Tensor, strength: Tensor | None) -> Tensor:
    return unit(query) if strength is None else unit(query) * strength.unsqueeze(-1)
