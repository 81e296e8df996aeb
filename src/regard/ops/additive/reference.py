"""The definition of additive attention: plain PyTorch, any device, any float dtype, autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.softmax import softmax_attention, statistics_dtype


def score(
    query: Tensor, key: Tensor, weight: Tensor, *, features: Tensor | None, feature_weight: Tensor | None
) -> Tensor:
    """e_ts = vᵀ tanh(q_t + k_s + P f_ts), with the [B, H, T, S, A] tensor in memory."""
    hidden = query.unsqueeze(3) + key.unsqueeze(2)  # [b, h, q, k, a]
    if features is not None and feature_weight is not None:
        hidden = hidden + torch.einsum(
            "bhqkf,haf->bhqka", features.expand(-1, key.shape[1], -1, -1, -1), feature_weight
        )
    statistics = statistics_dtype(hidden.dtype)
    return torch.einsum("bhqka,ha->bhqk", torch.tanh(hidden).to(statistics), weight.to(statistics))


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    features: Tensor | None,
    feature_weight: Tensor | None,
    dropout: float,
) -> Attended:
    """Score, softmax, weighted sum."""
    energy = score(query, key, weight, features=features, feature_weight=feature_weight)
    return softmax_attention(energy, value, mask, dropout=dropout)
