"""Agreement of two rankings of the words of a text: Kendall's tau with its significance, overlap of the largest."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import torch
from torch import Tensor

_EXACT = 33
"""Maximum number of words for the exact permutation test (without ties), as in scipy."""


class Agreement(NamedTuple):
    """Kendall's rank correlation of two scores, one value per text.

    Attributes:
        tau: [B], tau-b in [-1, 1]; NaN where one of the scores is constant, or with fewer than two words.
        p: [B], two-sided p-value.
    """

    tau: Tensor
    p: Tensor


def kendall(first: Tensor, second: Tensor, inside: Tensor) -> Agreement:
    r"""Kendall's tau-b of two scores of the words of each text.

    .. math:: \tau_b = \frac{C - D}{\sqrt{(n_0 - n_1)(n_0 - n_2)}}, \quad n_0 = \tfrac{n (n - 1)}{2}

    C and D count concordant and discordant pairs, n_1 and n_2 pairs with equal scores. Without ties and with up to 33
    words the p-value is exact, otherwise a normal approximation with tie correction (Kendall 1970).

    Args:
        first, second: scores [B, T].
        inside: [B, T], True at words, False at padding.

    >>> scores = torch.tensor([[0.1, 0.2, 0.7, 0.0]])
    >>> kendall(scores, torch.tensor([[1.0, 3.0, 2.0, 9.0]]), torch.tensor([[True, True, True, False]]))
    Agreement(tau=tensor([0.3333]), p=tensor([1.]))
    """
    pairs = inside.unsqueeze(2) & inside.unsqueeze(1)  # [B, T, T]
    one, other = (_signs(scores.double(), pairs) for scores in (first, second))  # [B, T, T] each
    surplus = (one * other).sum((1, 2)) / 2  # C - D
    words = inside.sum(1).double()
    every = words * (words - 1) / 2
    # Each pair occurs twice in the matrix, and a tied pair has sign 0: n_1 and n_2 of the formula.
    ties = [every - signs.abs().sum((1, 2)) / 2 for signs in (one, other)]
    tau = surplus / ((every - ties[0]) * (every - ties[1])).sqrt()
    tau = torch.where(tau.isfinite(), tau.clamp(-1, 1), torch.nan)
    p = _normal(surplus, words, ties, [_tie_sums(scores.double(), pairs, inside) for scores in (first, second)])
    for text in ((ties[0] == 0) & (ties[1] == 0) & (words <= _EXACT) & (words >= 2)).nonzero().flatten().tolist():
        p[text] = _exact(int(words[text]), int(every[text] - surplus[text]) // 2)
    return Agreement(tau.float(), torch.where(tau.isnan(), torch.nan, p).float())


def overlap(first: Tensor, second: Tensor, inside: Tensor, share: float = 0.2) -> Tensor:
    """Share of the highest-scored words of one score that are also among those of another, [B].

    Args:
        first, second: scores [B, T].
        inside: [B, T], True at words, False at padding.
        share: fraction of words of a text in the top group, at least one word.

    >>> words = torch.ones(1, 4, dtype=torch.bool)
    >>> overlap(torch.tensor([[4.0, 3, 2, 1]]), torch.tensor([[1.0, 4, 2, 3]]), words, share=0.5)
    tensor([0.5000])
    """
    count = (inside.sum(1) * share).ceil().clamp(min=1).long().unsqueeze(1)  # [B, 1]
    one, other = (largest(scores, inside, count) for scores in (first, second))
    return (one & other).sum(1) / count.squeeze(1)


def largest(scores: Tensor, inside: Tensor, count: Tensor) -> Tensor:
    """Mask [B, T] of the `count` [B, 1] highest-scored words of each text; ties go to the first word.

    >>> largest(torch.tensor([[1.0, 3.0, 3.0, 2.0]]), torch.ones(1, 4, dtype=torch.bool), torch.tensor([[2]])).int()
    tensor([[0, 1, 1, 0]], dtype=torch.int32)
    """
    order = scores.masked_fill(~inside, -torch.inf).sort(dim=1, descending=True, stable=True).indices
    rank = torch.empty_like(order).scatter_(
        1, order, torch.arange(order.shape[1], device=order.device).expand_as(order)
    )
    return (rank < count) & inside


def divergence(first: Tensor, second: Tensor) -> Tensor:
    r"""Jensen-Shannon divergence of two distributions over the last dimension, in nats: 0 to ln 2.

    .. math:: \mathrm{JSD}(p, q) = \tfrac12 \mathrm{KL}(p \,\|\, m) + \tfrac12 \mathrm{KL}(q \,\|\, m), \quad
              m = \tfrac12 (p + q)

    >>> divergence(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    middle = (first + second) / 2
    return (relative_entropy(first, middle) + relative_entropy(second, middle)) / 2


def relative_entropy(first: Tensor, second: Tensor) -> Tensor:
    """KL(first ‖ second) of two distributions over the last dimension, in nats; a zero of the second counts as 1e-30.

    >>> relative_entropy(torch.tensor([1.0, 0.0]), torch.tensor([0.25, 0.75]))
    tensor(1.3863)
    """
    return torch.where(first > 0, first * (first.clamp(min=1e-30).log() - second.clamp(min=1e-30).log()), 0.0).sum(-1)


def variation(first: Tensor, second: Tensor) -> Tensor:
    """Total variation distance of two distributions over the last dimension: half the sum of differences, 0 to 1.

    >>> variation(torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1]))
    tensor(0.4000)
    """
    return (first - second).abs().sum(-1) / 2


def _signs(scores: Tensor, pairs: Tensor) -> Tensor:
    """Pairwise sign(x_i - x_j), [B, T, T]; 0 at padding."""
    return (scores.unsqueeze(2) - scores.unsqueeze(1)).sign().masked_fill(~pairs, 0.0)


def _tie_sums(scores: Tensor, pairs: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """Σ t(t-1)(t-2) and Σ t(t-1)(2t+5) over groups of t equal scores, [B] each."""
    equal = (scores.unsqueeze(2) == scores.unsqueeze(1)) & pairs
    size = equal.sum(2).double()  # [B, T], size t of each word's group; each of its t words adds 1 / t of the term
    shares = (size - 1) * (size - 2), (size - 1) * (2 * size + 5)
    cubic, linear = (share.masked_fill(~inside, 0.0).sum(1) for share in shares)
    return cubic, linear


def _normal(surplus: Tensor, words: Tensor, ties: list[Tensor], sums: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Two-sided p-value by the normal approximation."""
    m = words * (words - 1)
    (cubic, linear), (other_cubic, other_linear) = sums
    variance = (m * (2 * words + 5) - linear - other_linear) / 18
    variance = variance + 2 * ties[0] * ties[1] / m + cubic * other_cubic / (9 * m * (words - 2))
    p: Tensor = torch.special.erfc(surplus.abs() / (2 * variance).sqrt())
    return p


def _exact(words: int, discordant: int) -> float:
    """Exact two-sided p-value of a number of discordant pairs, over all permutations of the words."""
    pairs = words * (words - 1) // 2
    counts = _inversions(words)
    fewest = min(discordant, pairs - discordant)  # the distribution is symmetric: double the smaller tail
    if 2 * fewest == pairs:
        return 1.0
    return min(1.0, 2 * sum(counts[: fewest + 1]) / math.factorial(words))


@functools.cache
def _inversions(words: int) -> tuple[int, ...]:
    """Count the permutations of `words` items by their number of inversions.

    >>> _inversions(3)
    (1, 2, 2, 1)
    """
    if words < 2:
        return (1,)
    before = _inversions(words - 1)
    most = words * (words - 1) // 2
    return tuple(sum(before[max(0, k - words + 1) : k + 1]) for k in range(most + 1))
