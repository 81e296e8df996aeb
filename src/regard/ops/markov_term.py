"""The Markov term of an additive score (Cohn et al. 2016)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from regard.ops.card import Card

CARD = Card(
    name="markov_term",
    family="score term",
    equation="ξ(α_{j-1}; i) = [α_{j-1,i-k}, ..., α_{j-1,i+k}]",
    paper='Cohn et al. 2016, "Markov condition"',
    cost="T·S·(2k+1), and T·S·(2k+1)·A inside the score",
    op="markov_features",
    module="Markov",
)


def markov_features(weights: Tensor, *, reach: int = 1) -> Tensor:
    r"""Weights of the previous query around each key: its alignment says which key is likely next.

    .. math:: \xi(\alpha_{j-1}; i) = [\alpha_{j-1,\,i-k},\ \dots,\ \alpha_{j-1,\,i},\ \dots,\ \alpha_{j-1,\,i+k}]

    A window, because a sentence's length is not fixed and a weight matrix's width is. With k = 1 a model can learn
    to move on (feature k - 1 of key i is the weight of key i - 1), to stay, or to step back.

    Args:
        weights: [B, H, T, S], α_{j-1} of T queries j; in a decoder T = 1. Zeros for the first query, which has none
            before it.
        reach: k.

    Returns:
        Features [B, H, T, S, 2k + 1], from i - k to i + k; neighbours beyond the ends are 0. Differentiable: the
        gradient goes on through the past.

    Raises:
        ValueError: weights that are not [B, H, T, S], or a negative reach.

    Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model",
    Markov condition; k = 1 there.

    >>> import torch
    >>> markov_features(torch.tensor([[[[0.2, 0.7, 0.1]]]]))[0, 0, 0]
    tensor([[0.0, 0.2, 0.7],
            [0.2, 0.7, 0.1],
            [0.7, 0.1, 0.0]])
    """
    return neighbours("markov_term", weights, reach)


def neighbours(mechanism: str, weights: Tensor, reach: int) -> Tensor:
    """The weights around each key, [B, H, T, S] -> [B, H, T, S, 2 reach + 1]; 0 beyond the ends."""
    if weights.dim() != 4:
        raise ValueError(f"{mechanism}: weights must be [B, H, T, S]; got shape {list(weights.shape)}")
    if reach < 0:
        raise ValueError(f"{mechanism}: reach is how many neighbours on each side, 0 or more; got {reach}")
    # One zero more than is needed, and one window cut off: so there is a window even when there are no keys.
    padded = F.pad(weights, (reach, reach + 1))
    return padded.unfold(-1, 2 * reach + 1, 1)[..., : weights.shape[-1], :]
