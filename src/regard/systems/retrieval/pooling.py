"""Pooling of encoder states to one vector per text."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.models.encoded import Encoded
from regard.nn.structured import StructuredSelfAttention

PoolingKind = Literal["mean", "attention", "last"]


class PooledStates(NamedTuple):
    """Pooled vectors with the weights and states that they were computed from.

    Attributes:
        vector: [B, C].
        weights: [B, S], weight of each word, zero at padding; None for the encoder's summary.
        states: [B, S, C], states of the encoder.
    """

    vector: Tensor
    weights: Tensor | None
    states: Tensor


class Pooling(nn.Module):
    """Weighted mean of the states of a text, or the summary of its encoder.

    Args:
        dim: width C of the states.
        kind: `"mean"` of the words, `"attention"` with weights softmax(w₂ tanh(W₁ Hᵀ)), or `"last"`, the encoder's
            summary.

    A text without words has a vector of zeros. Lin et al. 2017, equation 5, for attention.

    >>> pooled = Pooling(3, "mean")(Encoded(torch.ones(2, 5, 3), torch.zeros(2, 3), Mask.padding([5, 2])))
    >>> pooled.vector.shape, pooled.weights[1].tolist()
    (torch.Size([2, 3]), [0.5, 0.5, 0.0, 0.0, 0.0])
    """

    def __init__(self, dim: int, kind: PoolingKind) -> None:
        super().__init__()
        self.kind = kind
        self.attention = StructuredSelfAttention(dim, dim, 1) if kind == "attention" else None

    def forward(self, encoded: Encoded) -> PooledStates:
        """Pool the states of an encoder."""
        states = encoded.states
        if self.kind == "last":
            return PooledStates(encoded.summary, None, states)
        if self.attention is not None:
            attended = self.attention(states, encoded.mask)
            return PooledStates(attended.context.squeeze(1), attended.weights().squeeze(1), states)
        inside = token_mask(encoded)
        weights = inside / inside.sum(1, keepdim=True).clamp(min=1)  # [B, S]; the clamp makes an empty text zeros
        return PooledStates(torch.einsum("bs,bsc->bc", weights.to(states), states), weights.to(states), states)


def token_mask(encoded: Encoded) -> Tensor:
    """Return [B, S], True at words."""
    batch, size, _ = encoded.states.shape
    mask = Mask.of(torch.ones(1, dtype=torch.bool)) if encoded.mask is None else encoded.mask
    return mask.allowed((batch, 1, 1, size), device=encoded.states.device).expand(batch, 1, 1, size)[:, 0, 0]
