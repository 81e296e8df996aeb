"""Deterministic top-k for beam search: the same continuations on every machine and in every batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Candidates(NamedTuple):
    """Continuations of open hypotheses, best first, all [b, G, c].

    Attributes:
        beam: index of the continued hypothesis in its group, 0 to w - 1.
        token: the added token.
        log_prob: the model's log-probability of the token, in float32.
        total: the sum of log-probabilities including it, in float64; -inf for a forbidden one.
    """

    beam: Tensor
    token: Tensor
    log_prob: Tensor
    total: Tensor


def stable_topk(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k largest values of the last dimension in descending order, and their indices; ties by index.

    `Tensor.topk` does not specify the order of ties, nor which of them it returns. Ties are sorted only where they
    occur, and a full sort is needed only for rows whose ties cross the border of the top k.

    >>> stable_topk(torch.tensor([1.0, 3.0, 3.0, 2.0, 3.0]), 2)
    (tensor([3., 3.]), tensor([1, 2]))
    """
    size = values.shape[-1]
    top, index = _topk(values, min(k + 1, size))
    if not bool((top[..., 1:] == top[..., :-1]).any()):
        return top[..., :k], index[..., :k]
    index = index[..., :k]
    if size > k:
        unclear = (top[..., k - 1] == top[..., k]) & ~top[..., k].isneginf()
        if bool(unclear.any()):
            index[unclear] = values[unclear].sort(dim=-1, descending=True, stable=True).indices[..., :k]
    index = index.sort(dim=-1).values
    found, order = values.gather(-1, index).sort(dim=-1, descending=True, stable=True)  # [..., k]
    return found, index.gather(-1, order)


def _topk(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`Tensor.topk` over the last dimension, in two passes, since a single one is slow for many rows.

    The values are divided into columns. Each of the k largest values lies in one of the k columns with the largest
    maxima, so the second pass sees these columns alone.
    """
    rows, columns = _DEALT, values.shape[-1] // _DEALT
    if columns < 2 * k or values.numel() < _MANY:
        top, index = values.topk(k, dim=-1)
        return top, index
    dealt = rows * columns
    # largest of each column [..., columns]
    _, column = _topk(values[..., :dealt].unflatten(-1, (rows, columns)).amax(-2), k)
    positions = torch.arange(0, dealt, columns, device=values.device).unsqueeze(-1) + column.unsqueeze(-2)
    rest = torch.arange(dealt, values.shape[-1], device=values.device).expand(*column.shape[:-1], -1)
    positions = torch.cat((positions.flatten(-2), rest), -1)
    top, index = values.gather(-1, positions).topk(k, dim=-1)  # [..., k]
    return top, positions.gather(-1, index)


_DEALT = 20
_MANY = 1 << 18

Barred = Callable[[Tensor], Tensor]
"""Tokens [b, w, c] -> which of them may not be, likewise."""


def expand(sums: Tensor, log_probs: Tensor, count: int, diversity: float, barred: Barred, at_most: int) -> Candidates:
    r"""The `count` best continuations of each group of a beam.

    .. math:: \mathrm{rank}(b, v) = \mathrm{sum}_b + \log p_b(v) - \lambda \, |\{\text{earlier groups' choices of } v\}|

    Of equals the one that continues the better hypothesis comes first, then the smaller id. The last term is the
    Hamming diversity of diverse beam search; it ranks the choices of one step and stays out of the sums.

    Args:
        sums: [b, G, w] sums of log-probabilities, float64.
        log_probs: [b, G, w, V] of the next token.
        count: how many, 2k; a group's choice are its first k.
        diversity: λ.
        barred: says which tokens may not be: -inf in the outcome, whatever the model thinks of them.
        at_most: of all tokens, so many.

    Reference: Vijayakumar et al. 2016, "Diverse Beam Search", algorithm 1 and section 3.2.
    """
    rows, groups, _, vocabulary = log_probs.shape
    taken = torch.zeros(rows, vocabulary, device=log_probs.device) if diversity else None
    found = []
    for group in range(groups):
        avoid = None if taken is None else diversity * taken[:, None]
        found.append(_expand(sums[:, group], log_probs[:, group], count, avoid, barred, at_most))
        if taken is not None:
            choice = found[-1].token[:, : count // 2]
            taken.scatter_add_(1, choice, found[-1].total[:, : count // 2].isfinite().to(taken.dtype))
    if groups == 1:  # nothing to be joined
        return Candidates(*(part.unsqueeze(1) for part in found[0]))
    return Candidates(*(torch.stack(parts, 1) for parts in zip(*found, strict=True)))  # [b, G, c] each


def _expand(
    sums: Tensor, log_probs: Tensor, count: int, avoid: Tensor | None, barred: Barred, at_most: int
) -> Candidates:
    """The same for one group: [b, w] sums, [b, w, V] log-probabilities, [b, 1, V] to be subtracted for the ranking."""
    ranked = log_probs if avoid is None else log_probs - avoid
    # The best of all are among the best of each: V is looked through once, in float32, and never copied.
    value, token = stable_topk(ranked, min(count + at_most, log_probs.shape[-1]))
    value = value.masked_fill(barred(token), -torch.inf)
    _, position = stable_topk((sums.unsqueeze(-1) + value.double()).flatten(1), min(count, value[0].numel()))
    beam = position // value.shape[-1]
    token = token.flatten(1).gather(1, position)  # [b, c]
    log_prob = value.flatten(1).gather(1, position)  # [b, c]
    if avoid is not None:
        log_prob = torch.where(
            log_prob.isneginf(), log_prob, log_probs.flatten(1).gather(1, beam * log_probs.shape[-1] + token)
        )
    return Candidates(beam, token, log_prob, sums.gather(1, beam) + log_prob.double())
