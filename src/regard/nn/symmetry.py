"""The symmetry loss."""

from __future__ import annotations

from torch import Tensor, nn

from regard.ops.symmetry import symmetry_bonus


class Symmetry(nn.Module):
    r"""A reward for two directions of translation that align alike: -γ tr(A_{X→Y} A_{Y→X}), averaged over the batch.

    .. math:: \mathcal{L} = -\log p(y \mid x) - \log p(x \mid y) - \gamma\, \mathrm{tr}(A_{X \to Y} A_{Y \to X})

    This module is the last part. No parameters of its own: it ties those of the two models.

    Args:
        gamma: γ >= 0, how much agreement counts.

    See `regard.ops.symmetry_bonus` (Cohn et al. 2016, bilingual symmetry).

    >>> import torch
    >>> Symmetry(gamma=0.5)(torch.eye(3).expand(2, 3, 3), torch.eye(3).expand(2, 3, 3))
    tensor(-1.5000)
    """

    def __init__(self, gamma: float = 1.0) -> None:
        super().__init__()
        self.gamma = gamma

    def forward(self, forward_weights: Tensor, backward_weights: Tensor) -> Tensor:
        """The loss, a scalar; forward_weights [B, J, I], backward_weights [B, I, J], over the same words."""
        return -self.gamma * symmetry_bonus(forward_weights, backward_weights).mean()

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}"
