"""Dropout that is fast on a CPU."""

from __future__ import annotations

from torch import Tensor, nn

from regard.ops.dropout import scaled_dropout


class Dropout(nn.Dropout):
    r"""`nn.Dropout`, faster on a CPU: in training x_i / (1 - p) with probability 1 - p, else 0.

    .. math:: y = \frac{m \odot x}{1 - p}, \quad m_i \sim \mathrm{Bernoulli}(1 - p)

    On a CPU, PyTorch's dropout spends most of its time drawing random numbers. Here four channels share one draw of 64
    bits, 16 each, so p is rounded to a multiple of 1 / 65,536, and kept channels are scaled by the exact inverse. Other
    devices use PyTorch's dropout.

    Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", section 4.

    Args:
        p: probability of dropping a channel.

    Shapes: x of any shape -> the same shape.

    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> Dropout(0.5)(torch.ones(8)).unique().tolist()
    [0.0, 2.0]
    >>> Dropout(0.5).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return scaled_dropout(x, self.p) if self.training else x
