"""Activation regularisation (AR) and temporal activation regularisation (TAR)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class ActivationPenalties:
    r"""Regularisation of the outputs h [B, T, D] of the top layer, summed over tokens as the loss is.

    .. math:: \alpha \sum_t \frac{1}{D} \lVert m \odot h_t \rVert^2
              + \beta \sum_t \frac{1}{D} \lVert h_{t+1} - h_t \rVert^2

    with the dropout mask m. The second sum is over adjacent steps in a window.

    Attributes:
        activation: α of activation regularisation (AR).
        temporal: β of temporal activation regularisation (TAR).

    Merity, Keskar & Socher 2018, section 4.5; Merity, McCann & Socher 2017.

    >>> import torch
    >>> outputs = torch.tensor([[[1.0, 3.0], [2.0, 2.0]]])
    >>> extras = {"outputs": outputs, "dropped": 2 * outputs}
    >>> ActivationPenalties(1.0, 0.0).loss(extras, torch.ones(1, 2).bool())        # (4 + 36) / 2 + (16 + 16) / 2
    tensor(36.)
    >>> ActivationPenalties(0.0, 1.0).loss(extras, torch.ones(1, 2).bool())        # (1 + 1) / 2
    tensor(1.)
    """

    activation: float = 0.0
    temporal: float = 0.0

    def loss(self, extras: Mapping[str, Tensor], counts: Tensor) -> Tensor | float:
        """Return the sum of both penalties.

        Args:
            extras: outputs [B, T, D] before (`"outputs"`) and after (`"dropped"`) dropout.
            counts: [B, T], True at tokens, False at padding.
        """
        total: Tensor | float = 0.0
        if self.activation:
            total = total + self.activation * _summed(extras["dropped"], counts)
        if self.temporal:
            change = extras["outputs"].diff(dim=1)  # [B, T - 1, D]
            total = total + self.temporal * _summed(change, counts[:, 1:])
        return total


def _summed(x: Tensor, counts: Tensor) -> Tensor:
    """Return the mean square of each vector, summed over the unmasked ones."""
    return x.float().square().mean(-1).masked_fill(~counts, 0.0).sum()
