"""REINFORCE loss of hard attention, with a moving-average baseline."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.ops.hard import Sample, reinforce_loss


class MovingBaseline(nn.Module):
    """An exponential average of past log-likelihoods: b <- decay b + (1 - decay) mean(log p).

    Args:
        decay: decay of the average; 0.9 in the paper.

    Buffers: `value` b, a scalar, initially 0 as in the paper.

    Xu et al. 2015, section 4.1, the unnumbered equation for b_k.

    >>> baseline = MovingBaseline()
    >>> baseline.update(torch.tensor([-4.0, -6.0]))
    >>> baseline.value
    tensor(-0.5000)
    """

    value: Tensor

    def __init__(self, decay: float = 0.9) -> None:
        super().__init__()
        if not 0.0 <= decay < 1.0:
            raise ValueError(f"MovingBaseline: decay must lie in [0, 1); got {decay}")
        self.decay = decay
        self.register_buffer("value", torch.zeros(()))

    @torch.no_grad()
    def update(self, log_likelihood: Tensor) -> None:
        """Update the average with the log-likelihoods of a batch, [B]."""
        self.value.lerp_(log_likelihood.mean().to(self.value), 1.0 - self.decay)

    def extra_repr(self) -> str:
        return f"decay={self.decay}"


class Reinforce(nn.Module):
    r"""The training loss of a model with hard attention, with a moving baseline.

    .. math:: -\frac{1}{B} \sum_b \bigl[\log p(y_b \mid \tilde s_b)
              + \lambda_r (\log p(y_b \mid \tilde s_b) - b) \log p(\tilde s_b) + \lambda_e H[\tilde s_b]\bigr]

    The baseline of a batch is computed from earlier batches and updated after use, in training only: a baseline that
    depends on the sample it is subtracted from would bias the gradient.

    Args:
        reward_weight: λ_r; the authors' code has 0.1.
        entropy_weight: λ_e; the authors' code has 0.002.
        decay: of the moving baseline.

    Xu et al. 2015, equation 12; see `regard.ops.reinforce_loss`.

    >>> from regard.nn import Attention, Dot, Hard
    >>> out = Attention(Dot(), Hard())(torch.randn(2, 3, 5, requires_grad=True), torch.randn(2, 7, 5))
    >>> log_likelihood = -out.context.square().sum((1, 2))       # whatever the model makes of the context
    >>> Reinforce()(log_likelihood, out.sample).shape
    torch.Size([])
    """

    def __init__(self, *, reward_weight: float = 0.1, entropy_weight: float = 0.002, decay: float = 0.9) -> None:
        super().__init__()
        self.reward_weight = reward_weight
        self.entropy_weight = entropy_weight
        self.baseline = MovingBaseline(decay)

    def forward(self, log_likelihood: Tensor, sample: Sample, lengths: Tensor | None = None) -> Tensor:
        """Compute the loss of a batch.

        Args:
            log_likelihood: [B], log p(y | s̃).
            sample: samples of all queries, [B, H, T]; `Sample.join` joins those of single queries.
            lengths: [B], number of valid queries per sequence; None for all.
        """
        loss = reinforce_loss(
            log_likelihood,
            sample,
            self.baseline.value,
            reward_weight=self.reward_weight,
            entropy_weight=self.entropy_weight,
            lengths=lengths,
        )
        if self.training:
            self.baseline.update(log_likelihood)
        return loss

    def extra_repr(self) -> str:
        return f"reward_weight={self.reward_weight}, entropy_weight={self.entropy_weight}"
