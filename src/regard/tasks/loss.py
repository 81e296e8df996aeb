"""The loss of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.ops.weights import Weights


class Loss(NamedTuple):
    """Sums over the tokens (or labels) of a batch.

    Attributes:
        total: what is minimised, with gradient: smoothed cross-entropy and whatever the model adds.
        nll: -log p of what is right, without smoothing: what perplexity is made of.
        tokens: how many there were.
        state: what the next window of the text begins with; None for examples.
        attended: what the model looked at; None without attention.
    """

    total: Tensor
    nll: Tensor
    tokens: int
    state: Any = None
    attended: Weights | None = None


def token_loss(logits: Tensor, target: Tensor, *, padding: int, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Cross-entropy summed over all that is not padding: smoothed, and plain.

    With smoothing ε the target is 1 - ε on the right one and ε / V on each of V (Szegedy et al. 2016). The plain one
    has no gradient.

    Args:
        logits: [..., V].
        target: [...] ids.
        padding: the id that does not count.
        smoothing: ε.

    >>> import torch
    >>> logits = torch.zeros(1, 2, 4)
    >>> token_loss(logits, torch.tensor([[1, 0]]), padding=0, smoothing=0.1)       # log 4, the second is padding
    (tensor(1.3863), tensor(1.3863))
    """
    counts = (target != padding).flatten()
    places = target.flatten().masked_fill(~counts, 0)
    total, nll = _Smoothed.apply(logits.float().flatten(0, -2), places, counts, smoothing)  # type: ignore[no-untyped-call]
    return total, nll


class _Smoothed(torch.autograd.Function):
    """Smoothed and plain cross-entropy of logits [N, V], with the gradient in one tensor:

        dL / dlogit_nv = softmax(logits_n)_v - ε / V - (1 - ε) [v = target_n]

    Logits are the largest tensor of an update, and each copy of them costs as much as a layer. So the gradient is
    written where the log-probabilities were, and can be asked for once.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, counts: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        log_probs = logits.log_softmax(-1)
        weight = counts.to(log_probs.dtype)
        nll = -(log_probs.gather(1, target.unsqueeze(1)).squeeze(1) * weight).sum()
        ctx.save_for_backward(log_probs, target, weight)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(nll)
        if smoothing == 0.0:
            return nll.clone(), nll
        even = -(log_probs.mean(-1) * weight).sum()
        return (1 - smoothing) * nll + smoothing * even, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, total: Tensor, nll: Tensor) -> tuple[Tensor, None, None, None]:
        log_probs, target, weight = ctx.saved_tensors
        gradient = log_probs.exp_()
        if ctx.smoothing:
            gradient.sub_(ctx.smoothing / gradient.shape[1])
        right = gradient.new_full((len(target), 1), ctx.smoothing - 1)
        gradient.scatter_add_(1, target.unsqueeze(1), right).mul_((weight * total).unsqueeze(1))
        return gradient, None, None, None
