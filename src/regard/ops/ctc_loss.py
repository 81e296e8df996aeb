"""The loss of connectionist temporal classification by PyTorch's kernel, in programs that are compiled too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def ctc_losses(log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, *, blank: int) -> Tensor:
    """-log p(y | x) of each sequence, [B]; 0 for transcripts that the frames are too few for.

    Args:
        log_probs: [B, T, V], in float32 or float64.
        targets: [B, U].
        frames: [B], true frames.
        labels: [B], true labels.
        blank: which symbol is the blank.

    >>> one = torch.ones(1, dtype=torch.long)
    >>> ctc_losses(torch.full((1, 2, 2), 0.5).log(), one[None], 2 * one, one, blank=0).neg().exp()
    tensor([0.7500])
    """
    if torch.compiler.is_compiling():
        losses: Tensor = _loss_and_slope(log_probs, targets, frames, labels, blank)[0]
        return losses
    by_frame = log_probs.transpose(0, 1)  # [T, B, V]
    return F.ctc_loss(by_frame, targets, frames, labels, blank=blank, reduction="none", zero_infinity=True)


@torch.library.custom_op("regard::ctc_loss_and_slope", mutates_args=())
def _loss_and_slope(
    log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """Losses [B] and their gradients [B, T, V], as one operation that a compiler does not look into.

    It cannot: the kernel leaves as many numbers for its own backward pass as its longest transcript is long.
    """
    aten = torch.ops.aten
    given = (log_probs.transpose(0, 1), targets, frames, labels)  # [T, B, V] first
    losses, paths = aten._ctc_loss(*given, blank, True)
    # A loss is of its own sequence alone, so that the slope of their sum has the slopes of all.
    slope = aten._ctc_loss_backward(torch.ones_like(losses), *given, losses, paths, blank, True)
    return losses.masked_fill(losses.isinf(), 0.0), slope.transpose(0, 1).contiguous()


@_loss_and_slope.register_fake
def _(log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    return log_probs.new_empty(log_probs.shape[0]), log_probs.new_empty(log_probs.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])


def _backward(ctx: Any, grad_losses: Tensor, grad_slope: Tensor) -> tuple[Tensor | None, ...]:
    (slope,) = ctx.saved_tensors
    return slope * grad_losses[:, None, None], None, None, None, None


_loss_and_slope.register_autograd(_backward, setup_context=_keep)
