"""Pointer sum attention (Kadlec et al. 2016): from weights on positions to probabilities of words."""

from __future__ import annotations

from torch import Tensor

from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="pointer_sum",
    family="whole matrix",
    equation="P(w) = Σ_{i: d_i = w} s_i",
    paper="Kadlec et al. 2016, eq. 2; Cui et al. 2017, sec. 3",
    cost="T·S additions",
    op="pointer_sum",
    module="AttentionOverAttention",
)


def pointer_sum(weights: Tensor, ids: Tensor, size: int) -> Tensor:
    r"""Sum the weights of all positions of a word.

    .. math:: P(w) = \sum_{i\,:\,d_i = w} s_i

    Args:
        weights: [B, S], or [B, T, S] for several queries; zero at padding.
        ids: [B, S], the word at each position, in [0, size); at padding any one.
        size: V, size of the vocabulary.

    Returns:
        [B, V] or [B, T, V], in float32 for half-precision weights. It sums to what the weights sum to.

    Raises:
        ValueError: shapes that do not fit.

    Kadlec et al. 2016, "Text Understanding with the Attention Sum Reader Network", equation 2.

    >>> import torch
    >>> pointer_sum(torch.tensor([[0.1, 0.2, 0.7]]), torch.tensor([[3, 1, 3]]), 5)     # word 3 stands twice
    tensor([[0.0, 0.2, 0.0, 0.8, 0.0]])
    """
    _check(weights, ids)
    weights = weights.to(statistics_dtype(weights.dtype))
    words = ids if weights.dim() == 2 else ids.unsqueeze(1).expand_as(weights)
    return weights.new_zeros(*weights.shape[:-1], size).scatter_add(-1, words, weights)


def pointer_candidates(weights: Tensor, ids: Tensor, candidates: Tensor) -> Tensor:
    """Compute `pointer_sum` for given candidates only; a word that does not occur has probability 0.

    Args:
        weights: [B, S].
        ids: [B, S], the word at each position.
        candidates: [B, K], candidate words.

    Returns:
        P(candidate), [B, K], in float32 for half-precision weights.

    >>> import torch
    >>> weights, ids = torch.tensor([[0.1, 0.2, 0.7]]), torch.tensor([[3, 1, 3]])
    >>> pointer_candidates(weights, ids, torch.tensor([[1, 3, 4]]))
    tensor([[0.2, 0.8, 0.0]])
    """
    _check(weights, ids)
    if weights.dim() != 2 or candidates.dim() != 2 or candidates.shape[0] != weights.shape[0]:
        raise ValueError(
            "pointer_sum: weights [B, S] and candidates [B, K] must share B; "
            f"got {list(weights.shape)} and {list(candidates.shape)}"
        )
    weights = weights.to(statistics_dtype(weights.dtype))
    same = candidates.unsqueeze(2) == ids.unsqueeze(1)  # [b, k, s]
    return (same.to(weights.dtype) @ weights.unsqueeze(2)).squeeze(2)


def _check(weights: Tensor, ids: Tensor) -> None:
    if weights.dim() not in (2, 3) or ids.shape != (weights.shape[0], weights.shape[-1]):
        raise ValueError(
            "pointer_sum: weights [B, S] or [B, T, S] and ids [B, S] must share B and S; "
            f"got {list(weights.shape)} and {list(ids.shape)}"
        )
