"""R-Drop: consistency of two forward passes of a batch with different dropout masks."""

from __future__ import annotations

from torch import Tensor

from regard.ops.softmax import statistics_dtype
from regard.tasks.loss import Loss, Outputs


def r_drop(first: Loss, second: Loss, weight: float) -> Loss:
    r"""Combine the losses of two forward passes with different dropout masks and the divergence of their outputs.

    .. math:: \frac{1}{2} \Bigl(L_1 + L_2 + \frac{\alpha}{2} \sum_t \bigl[\mathrm{KL}(p_t \Vert q_t)
              + \mathrm{KL}(q_t \Vert p_t)\bigr]\Bigr)

    with the distributions p_t and q_t of both passes. This is half the loss of the paper, so that it is comparable to
    the loss of a single pass.

    Args:
        first, second: losses of both passes, with outputs.
        weight: α.

    Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks", equations 2 to 4.
    """
    assert first.outputs is not None
    assert second.outputs is not None
    total = (first.total + second.total + weight / 2 * divergence(first.outputs, second.outputs)) / 2
    return first._replace(total=total, nll=(first.nll + second.nll) / 2)


def divergence(first: Outputs, second: Outputs) -> Tensor:
    """Return KL(p‖q) + KL(q‖p) = Σ (p - q)(log p - log q), summed over all positions that count.

    >>> import torch
    >>> def outputs(*chances: float) -> Outputs:
    ...     return Outputs(torch.tensor([chances]).log(), torch.tensor([True]))
    >>> divergence(outputs(0.5, 0.5, 0.0), outputs(0.8, 0.2, 0.0))        # 0.3 log 1.6 - 0.3 log 0.4
    tensor(0.4159)
    """
    dtype = statistics_dtype(first.logits.dtype)  # half precision is too coarse for differences of log p
    one, other = (part.logits.to(dtype).log_softmax(-1) for part in (first, second))  # [..., V] each
    apart = (one - other).masked_fill(one.isneginf() & other.isneginf(), 0.0)  # 0 log 0 / 0 is 0
    return ((one.exp() - other.exp()) * apart).sum(-1).masked_fill(~first.counts, 0.0).sum()
