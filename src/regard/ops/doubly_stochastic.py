"""Doubly stochastic attention (Xu et al. 2015): a penalty on unequal total attention to keys."""

from __future__ import annotations

from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="doubly_stochastic",
    family="structure loss",
    equation="Σ_i (1 - Σ_t α_ti)²",
    paper="Xu et al. 2015, eq. 14",
    cost="S",
    op="doubly_stochastic_penalty",
    module="DoublyStochastic",
)


def doubly_stochastic_penalty(coverage: Tensor, mask: Mask | None = None, *, target: float | Tensor = 1.0) -> Tensor:
    r"""Penalty on keys that get too much or too little attention: rows of α sum to one, columns should too.

    .. math:: \sum_i \Bigl(\tau - \sum_t \alpha_{ti}\Bigr)^2

    Args:
        coverage: [B, S], Σ_t α_ti: what `Attended.coverage()` gives for one head.
        mask: which keys count; None for all.
        target: τ, a number or one a sequence [B]; 1 in the paper.

    Returns:
        The penalty of each sequence [B], 0 where no key counts; in float32 for half-precision inputs.

    Raises:
        ValueError: shapes that do not fit.

    T queries spread a coverage of T over S keys, so with τ = 1 the penalty can reach 0 only if T = S; else it is at
    least (T - τS)² / S, which perfectly even attention reaches. With τ = T / S the least is 0.

    Xu et al. 2015, "Show, Attend and Tell: Neural Image Caption Generation with Visual Attention", equation 14.

    >>> import torch
    >>> doubly_stochastic_penalty(torch.tensor([[0.5, 2.0, 7.0]]), Mask.padding([2]))   # 0.5² + 1²; padding ignored
    tensor([1.2500])
    """
    if coverage.dim() != 2:
        raise ValueError(
            "doubly_stochastic: coverage must be [B, S] (several heads: one at a time, or their average); "
            f"got shape {list(coverage.shape)}"
        )
    batch, keys = coverage.shape
    coverage = coverage.to(statistics_dtype(coverage.dtype))
    if isinstance(target, Tensor):
        if target.shape != (batch,):
            raise ValueError(f"doubly_stochastic: target must be [B] = {[batch]} or a number; got {list(target.shape)}")
        target = target.to(coverage.dtype).unsqueeze(1)
    missing = target - coverage
    if mask is not None:
        missing = missing.masked_fill(~mask.allowed((batch, 1, 1, keys), device=coverage.device)[:, 0, 0], 0.0)
    return missing.square().sum(1)
