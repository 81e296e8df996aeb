"""The local fertility term of an additive score (Cohn et al. 2016)."""

from __future__ import annotations

from torch import Tensor

from regard.ops.card import Card
from regard.ops.markov_term import neighbours

CARD = Card(
    name="fertility_term",
    family="score term",
    equation="ξ(α_{<j}; i) = Σ_{j'<j} [α_{j',i-k}, ..., α_{j',i+k}]",
    paper='Cohn et al. 2016, "Fertility" (local)',
    cost="T·S·(2k+1), and T·S·(2k+1)·A inside the score",
    op="fertility_features",
    module="Fertility",
)


def fertility_features(weights: Tensor, *, reach: int = 1) -> Tensor:
    r"""Attention to each key and its neighbours so far: a word that has had its share can be left.

    .. math:: \xi(\alpha_{<j}; i) = \Bigl[\sum_{j'<j} \alpha_{j',\,i-k},\ \dots,\ \sum_{j'<j} \alpha_{j',\,i+k}\Bigr]

    Args:
        weights: [B, H, J, S], the rows α_{j'} of the J queries so far; none for the first query (J = 0). Their
            running sum [B, H, 1, S] does as well, so that a decoder need not keep them all.
        reach: k.

    Returns:
        Features [B, H, 1, S, 2k + 1] of the next query, from i - k to i + k; neighbours beyond the ends are 0.

    Raises:
        ValueError: weights that are not [B, H, J, S], or a negative reach.

    Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model",
    fertility, the local one; k = 1 there. The other one is `fertility_log_likelihood`, a loss.

    >>> import torch
    >>> fertility_features(torch.tensor([[[[0.2, 0.7, 0.1], [0.0, 0.5, 0.5]]]]))[0, 0, 0]
    tensor([[0.0, 0.2, 1.2],
            [0.2, 1.2, 0.6],
            [1.2, 0.6, 0.0]])
    """
    return neighbours("fertility_term", weights, reach).sum(2, keepdim=True)
