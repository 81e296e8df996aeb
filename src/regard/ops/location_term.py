"""The location term of an additive score (Chorowski et al. 2015)."""

from __future__ import annotations

from torch import Tensor

from regard.ops.card import Card
from regard.ops.markov_term import neighbours

CARD = Card(
    name="location_term",
    family="score term",
    equation="f_j = F * α_{j-1},  e = vᵀ tanh(W q + U k + P f)",
    paper="Chorowski et al. 2015, eq. 8-9",
    cost="T·S·F·(2k+1), and T·S·F·A inside the score",
    op="location_features",
    module="LocationFeatures",
)


def location_features(weights: Tensor, filters: Tensor) -> Tensor:
    r"""Learned filters run over the last alignment: content and location in one score ("hybrid" attention).

    .. math:: f_{j,i,n} = \sum_{d=-k}^{k} F_{n,\,k+d}\; \alpha_{j-1,\,i+d}

    Args:
        weights: [B, H, T, S], α_{j-1} of T queries j (in a decoder T = 1), or the sum of all α so far.
        filters: [F, 2k + 1]; entry k + d weighs the neighbour i + d.

    Returns:
        Features [B, H, T, S, F]; neighbours beyond the ends are 0.

    Raises:
        ValueError: weights that are not [B, H, T, S], or filters that are not [F, odd].

    Chorowski et al. 2015, "Attention-Based Models for Speech Recognition", equations 8 and 9. The paper writes a
    convolution; this is a correlation, as `conv1d` is everywhere: the paper's filter read backwards. For a filter
    that is learned it is the same thing.

    >>> import torch
    >>> step_right = torch.tensor([[1.0, 0.0, 0.0]])                 # looks at the neighbour on the left
    >>> location_features(torch.tensor([[[[0.2, 0.7, 0.1]]]]), step_right).flatten()
    tensor([0.0, 0.2, 0.7])
    """
    if filters.dim() != 2 or filters.shape[1] % 2 == 0:
        raise ValueError(f"location_term: filters must be [F, 2k + 1], of odd length; got shape {list(filters.shape)}")
    return neighbours("location_term", weights, filters.shape[1] // 2) @ filters.mT.to(weights.dtype)
