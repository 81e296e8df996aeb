"""Reference of additive attention in plain PyTorch: any device, any float dtype, autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.softmax import finite_softmax, full_precision, read, to_statistics_dtype
from regard.ops.weights import sizes


def score(
    query: Tensor, key: Tensor, weight: Tensor, *, features: Tensor | None, feature_weight: Tensor | None
) -> Tensor:
    """Compute e_ts = vᵀ tanh(q_t + k_s + P f_ts), with the [B, H, T, S, A] tensor in memory."""
    with full_precision(query):
        query, key = to_statistics_dtype(query), to_statistics_dtype(key)
        if query.shape[1] == 1 and features is None:
            return _one_head(query.transpose(1, 2), key, weight.to(query.dtype))  # query [B, T, 1, A]
        hidden = query.unsqueeze(3) + key.unsqueeze(2)  # [b, h, q, k, a]
        if features is not None and feature_weight is not None:
            features = features.to(hidden.dtype).expand(-1, key.shape[1], -1, -1, -1)
            hidden = hidden + torch.einsum("bhqkf,haf->bhqka", features, feature_weight.to(hidden.dtype))
        # Not an einsum: its gradient of v is a single sum over batch, queries and keys, which loses two digits.
        return (hidden.tanh_() @ weight.to(hidden.dtype)[:, None, :, None]).squeeze(4)


def _one_head(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """The same of [B, T, 1, A], [B, 1, S, A] and [1, A], in half as many operations, which a short read takes as long
    as: one product for each query, of which the gradient of v is many short sums.
    """
    hidden = (query + key).tanh_()  # [b, q, k, a]
    batch, queries, keys, width = hidden.shape
    rows = batch * queries
    energy = torch.bmm(hidden.reshape(rows, keys, width), weight.expand(rows, 1, width).mT)  # [b * q, k, 1]
    return energy.view(batch, 1, queries, keys)


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
    """Compute energies, masked softmax and weighted sum."""
    energy = score(query, key, weight, features=features, feature_weight=feature_weight)
    return read(finite_softmax(energy, mask, sizes(energy)), value, dropout)  # |e| <= Σ|v|
