"""Learning where to look: the loss of hard attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.ops.hard import Sample, reinforce_loss


class MovingBaseline(nn.Module):
    """An exponential average of past log-likelihoods: b <- decay b + (1 - decay) mean(log p).

    Args:
        decay: how much of the past is kept; the paper's is 0.9.

    Buffers: `value` b, a scalar, 0 before the first update as in the paper.

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
        """Take in one batch of log-likelihoods, [B]."""
        self.value.lerp_(log_likelihood.mean().to(self.value), 1.0 - self.decay)

    def extra_repr(self) -> str:
        return f"decay={self.decay}"


class Reinforce(nn.Module):
    r"""The training loss of a model with hard attention, with a moving baseline.

    .. math:: -\frac{1}{B} \sum_b \bigl[\log p(y_b \mid \tilde s_b)
              + \lambda_r (\log p(y_b \mid \tilde s_b) - b) \log p(\tilde s_b) + \lambda_e H[\tilde s_b]\bigr]

    The baseline of a batch is made from the batches before it, and takes this one in after use, in training only: a
    baseline that saw the sample it is subtracted from would bias the gradient.

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
        """The loss of a batch.

        Args:
            log_likelihood: [B], log p(y | s̃).
            sample: what was drawn for all queries, [B, H, T]; reads of one query each are joined by `Sample.join`.
            lengths: [B], how many queries of each sequence count; None for all.
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
