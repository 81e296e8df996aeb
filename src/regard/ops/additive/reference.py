"""The definition of additive attention: plain PyTorch, any device, any float dtype, autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.softmax import finite_softmax, full_precision, read, statistics_dtype
from regard.ops.weights import sizes


def score(
    query: Tensor, key: Tensor, weight: Tensor, *, features: Tensor | None, feature_weight: Tensor | None
) -> Tensor:
    """e_ts = vᵀ tanh(q_t + k_s + P f_ts), with the [B, H, T, S, A] tensor in memory."""
    statistics = statistics_dtype(query.dtype)
    with full_precision(query):
        hidden = query.to(statistics).unsqueeze(3) + key.to(statistics).unsqueeze(2)  # [b, h, q, k, a]
        if features is not None and feature_weight is not None:
            features = features.to(statistics).expand(-1, key.shape[1], -1, -1, -1)
            hidden = hidden + torch.einsum("bhqkf,haf->bhqka", features, feature_weight.to(statistics))
        # Not an einsum: its gradient of v would be one long sum over batch, queries and keys, and lose two digits.
        return (hidden.tanh_() @ weight.to(statistics)[:, None, :, None]).squeeze(4)


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
    return read(finite_softmax(energy, mask, sizes(energy)), value, dropout)  # |e| <= Σ|v|
