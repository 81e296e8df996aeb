"""Losses of a batch: cross-entropy over tokens, and over a copying vocabulary."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from regard.ops.cross_entropy import cross_entropy
from regard.ops.weights import Weights
from regard.tasks.class_weights import ClassWeights


class Outputs(NamedTuple):
    """Distributions that a model predicts for a batch.

    Attributes:
        logits: [..., V].
        counts: [...], True at positions with a target, False at padding.
    """

    logits: Tensor
    counts: Tensor


class Loss(NamedTuple):
    """Sums over the tokens (or labels) of a batch.

    Attributes:
        total: the training objective, with gradient: smoothed cross-entropy plus auxiliary losses of the model.
        nll: negative log-likelihood of the targets without smoothing, from which perplexity is computed.
        tokens: number of targets.
        state: initial state of the next window; None for independent examples.
        attended: attention of the model; None without attention.
        outputs: predicted distributions; set only in tasks that support R-Drop.
    """

    total: Tensor
    nll: Tensor
    tokens: int
    state: Any = None
    attended: Weights | None = None
    outputs: Outputs | None = None


def copy_loss(log_probs: Tensor, target: Tensor, *, size: int, padding: int, smoothing: float) -> tuple[Tensor, Tensor]:
    """Cross-entropy over a copying vocabulary: label-smoothed over the shared words only, and unsmoothed.

    Args:
        log_probs: [B, T, V + S], `regard.models.Copying`; -inf at copy slots that a source does not use.
        target: [B, T] ids.
        size: V.
        padding: padding id, ignored in both sums.
        smoothing: ε, spread over V.

    >>> import torch
    >>> log_probs = torch.tensor([[[0.25, 0.25, 0.5, 0.0]]]).log()
    >>> copy_loss(log_probs, torch.tensor([[2]]), size=2, padding=0, smoothing=0.5)       # (log 2 + log 4) / 2, log 2
    (tensor(1.0397), tensor(0.6931))
    """
    counts = target != padding
    # [B, T, V + S] -> [B, T]; masked_fill, since padding may have log-probability -inf and inf * 0 is NaN
    nll = -log_probs.gather(2, target.unsqueeze(2)).squeeze(2).masked_fill(~counts, 0.0).sum()
    if not smoothing:
        return nll, nll.detach()
    spread = -log_probs[..., :size].mean(-1).masked_fill(~counts, 0.0).sum()
    return (1 - smoothing) * nll + smoothing * spread, nll.detach()


def token_loss(
    logits: Tensor, target: Tensor, *, padding: int, smoothing: float = 0.0, weights: ClassWeights | None = None
) -> tuple[Tensor, Tensor]:
    """Cross-entropy summed over all targets except padding: label-smoothed, and unsmoothed.

    The smoothed target has 1 - ε on the correct class plus ε / V on all V classes (Szegedy et al. 2016). The
    unsmoothed sum has no gradient.

    Args:
        logits: [..., V].
        target: [...] ids.
        padding: padding id, ignored in both sums.
        smoothing: ε.
        weights: class weights; applied to the smoothed sum only.

    >>> import torch
    >>> logits = torch.zeros(1, 2, 4)
    >>> token_loss(logits, torch.tensor([[1, 0]]), padding=0, smoothing=0.1)       # log 4, the second is padding
    (tensor(1.3863), tensor(1.3863))
    """
    counts = (target != padding).flatten()  # [N]
    places = target.flatten().masked_fill(~counts, 0)  # [N]; any valid class at padding, where the weight is 0
    rows = logits.flatten(0, -2)  # [N, V]
    if weights is None:
        return cross_entropy(rows, places, counts, smoothing=smoothing)
    total, _ = cross_entropy(rows, places, counts * weights.on(rows.device)[places], smoothing=smoothing)
    return total, cross_entropy(rows.detach(), places, counts)[1]
