"""Concat attention (Luong, Pham & Manning 2015)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.additive import WITHOUT_DROPOUT, additive_attention, additive_score
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl, check_weight, raise_unsupported
from regard.ops.softmax import full_precision, softmax_attention, statistics_dtype

CARD = Card(
    name="concat",
    family="score",
    equation="e = vᵀ tanh(W [q; k])",
    paper="Luong, Pham & Manning 2015, sec. 3.1 (concat)",
    cost="T·S·A tanh; (T·Dq + S·Dk)·A + T·S·A + T·S·Dv",
    op="concat_attention",
    module="Concat",
    implementations=("reference", "projected", "blocked"),
    conditional=("cpu_sigmoid",),
    kernels=("fused", "short_reads"),
)


def concat_score(query: Tensor, key: Tensor, weight: Tensor, v: Tensor, *, impl: str | None = None) -> Tensor:
    """Compute the energies of concat attention, for aligners other than the softmax.

    Args: as in `concat_attention`.

    Returns:
        Energies [B, H, T, S], in float32 for half-precision inputs.

    >>> query, key = torch.ones(1, 1, 1, 1), torch.tensor([[[[0.0], [1.0]]]])
    >>> concat_score(query, key, torch.tensor([[[1.0, -1.0]]]), torch.ones(1, 1))   # tanh(1 - 0), tanh(1 - 1)
    tensor([[[[0.76, 0.00]]]])
    """
    check_impl("concat", CARD.implementations, impl)
    _check(query, key, weight, v)
    if impl == "reference":
        return _definition(query, key, weight, v)
    queries, keys = _project(query, key, weight)
    return additive_score(queries, keys, v.to(queries.dtype), impl="reference" if impl == "projected" else impl)


def concat_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    v: Tensor,
    mask: Mask | None = None,
    *,
    dropout: float = 0.0,
    impl: str | None = None,
) -> Attended:
    r"""Concat attention: energies from a one-layer network of the concatenation of query and key.

    .. math:: e_{ts} = v^\top \tanh(W [q_t; k_s]), \quad a_t = \mathrm{softmax}(e_t), \quad
              c_t = \sum_s a_{ts}\, \mathrm{value}_s

    One matrix on a concatenation is two matrices side by side, W [q; k] = W_q q + W_k k, so this *is* additive
    attention of W_q q and W_k k. The definition concatenates every pair; the other implementations project each
    query and each key once and leave the rest to `additive_attention`. All are the same function.

    Args:
        query: [B, H, T, Dq].
        key: [B, H, S, Dk].
        value: [B, H, S, Dv].
        weight: [H, A, Dq + Dk], W of each head, the columns of the query first.
        v: [H, A].
        mask: what may be attended; None for everything.
        dropout: probability of dropping a weight; not with `blocked` and `fused`.
        impl: `"reference"` (the definition, builds [B, H, T, S, Dq + Dk]), `"projected"` (each vector projected once,
            then the definition of additive attention), an implementation of additive attention after the projection
            (`"blocked"`, `"cpu_sigmoid"`, on a GPU `"fused"` or `"short_reads"`), or None for the fastest by size.

    Returns:
        Attended with context [B, H, T, Dv].

    Raises:
        ValueError: shapes that do not fit, or an implementation that cannot do what is asked.

    Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1. It
    is also the one-matrix network of the notes, w2ᵀ tanh(W1 [q; k]).

    >>> query, key = torch.ones(1, 1, 1, 1), torch.tensor([[[[0.0], [1.0]]]])
    >>> concat_attention(query, key, key, torch.tensor([[[1.0, -1.0]]]), torch.ones(1, 1)).weights()
    tensor([[[[0.68, 0.32]]]])
    """
    check_impl("concat", CARD.names, impl)
    check_weight("concat", "weight", weight)
    _check(query, key, weight, v)
    _check_value(key, value)
    if impl == "reference":
        return softmax_attention(_definition(query, key, weight, v), value, mask, dropout=dropout)
    if dropout and impl in WITHOUT_DROPOUT:
        raise_unsupported("concat", impl, f"has no dropout; got {dropout}")
    queries, keys = _project(query, key, weight)
    inner = "reference" if impl == "projected" else impl
    attended = additive_attention(queries, keys, value, v.to(queries.dtype), mask, dropout=dropout, impl=inner)
    if attended.impl == "reference":
        attended.impl = "projected"
    return attended


def _definition(query: Tensor, key: Tensor, weight: Tensor, v: Tensor) -> Tensor:
    """Compute e_ts = vᵀ tanh(W [q_t; k_s]), with all pairs in memory."""
    statistics = statistics_dtype(query.dtype)
    shape = (*query.shape[:3], key.shape[2], -1)
    pairs = torch.cat((query.unsqueeze(3).expand(shape), key.unsqueeze(2).expand(shape)), dim=-1).to(statistics)
    with full_precision(query):
        hidden = torch.einsum("bhqkc,hac->bhqka", pairs, weight.to(statistics)).tanh()
        return torch.einsum("bhqka,ha->bhqk", hidden, v.to(statistics))


def _project(query: Tensor, key: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Project to W_q q [B, H, T, A] and W_k k [B, H, S, A], in the dtype of the statistics."""
    statistics = statistics_dtype(query.dtype)
    for_query, for_key = weight.to(statistics).split((query.shape[3], key.shape[3]), dim=2)
    with full_precision(query):
        # [B, H, T, Dq] @ [H, Dq, A] and [B, H, S, Dk] @ [H, Dk, A]
        return query.to(statistics) @ for_query.mT, key.to(statistics) @ for_key.mT


def _check(query: Tensor, key: Tensor, weight: Tensor, v: Tensor) -> None:
    if query.dim() != 4 or key.dim() != 4 or query.shape[:2] != key.shape[:2]:
        raise ValueError(
            "concat: query [B, H, T, Dq] and key [B, H, S, Dk] must share B and H; "
            f"got {list(query.shape)} and {list(key.shape)}"
        )
    heads, joined = query.shape[1], query.shape[3] + key.shape[3]
    if weight.dim() != 3 or weight.shape[0] != heads or weight.shape[2] != joined:
        raise ValueError(
            f"concat: weight must be [H, A, Dq + Dk] = [{heads}, A, {joined}]: one column for each channel of the "
            f"query, then of the key; got {list(weight.shape)}"
        )
    if v.shape != weight.shape[:2]:
        raise ValueError(f"concat: v must be [H, A] = {list(weight.shape[:2])}; got {list(v.shape)}")


def _check_value(key: Tensor, value: Tensor) -> None:
    if value.dim() != 4 or value.shape[:3] != key.shape[:3]:
        raise ValueError(
            "concat: key [B, H, S, Dk] and value [B, H, S, Dv] must share B, H and S; "
            f"got {list(key.shape)} and {list(value.shape)}"
        )
