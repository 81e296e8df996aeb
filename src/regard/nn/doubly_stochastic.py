"""The doubly stochastic loss."""

from __future__ import annotations

from torch import Tensor, nn

from regard.masks import Mask
from regard.ops.doubly_stochastic import doubly_stochastic_penalty


class DoublyStochastic(nn.Module):
    r"""A penalty on keys that got too much or too little attention: λ Σ_i (τ - Σ_t α_ti)², averaged over the batch.

    Args:
        weight: λ; 1 in the paper's code.
        target: τ, the attention that each key should get in all; 1 in the paper.

    No parameters. See `regard.ops.doubly_stochastic_penalty` (Xu et al. 2015, equation 14).

    >>> import torch
    >>> DoublyStochastic(weight=0.5)(torch.tensor([[1.0, 3.0], [1.0, 1.0]]))
    tensor(1.)
    """

    def __init__(self, weight: float = 1.0, *, target: float = 1.0) -> None:
        super().__init__()
        self.weight = weight
        self.target = target

    def forward(self, coverage: Tensor, mask: Mask | None = None) -> Tensor:
        """The loss, a scalar.

        Args:
            coverage: [B, S], Σ_t α_ti over the true queries: `attended.coverage(lengths=...)`.
            mask: which keys count; None for all.
        """
        return self.weight * doubly_stochastic_penalty(coverage, mask, target=self.target).mean()

    def extra_repr(self) -> str:
        return f"weight={self.weight}, target={self.target}"
