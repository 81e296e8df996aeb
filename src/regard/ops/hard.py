"""Hard attention (Xu et al. 2015): attend to one sampled position, trained by REINFORCE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import restrict

CARD = Card(
    name="hard",
    family="aligner",
    equation="s ~ softmax(e),  a = one-hot(s)",
    paper="Xu et al. 2015, sec. 4.1, eq. 8-12",
    cost="T·S",
    op="hard_weights",
    module="Hard",
)


class Sample(NamedTuple):
    """Samples of hard attention, each [B, H, T].

    Attributes:
        key: sampled position; -1 if the expectation was used or all keys are masked.
        log_prob: log-probability of the sample, with gradient, the factor of the reward in REINFORCE. Zero if the
            expectation was used or all keys are masked.
        entropy: entropy of the sampled distribution, with gradient.
    """

    key: Tensor
    log_prob: Tensor
    entropy: Tensor

    @staticmethod
    def join(samples: Sequence[Sample]) -> Sample:
        """Concatenate the samples of consecutive queries."""
        return Sample(*(torch.cat(parts, dim=2) for parts in zip(*samples, strict=True)))


def hard_weights(
    energy: Tensor,
    mask: Mask | None = None,
    *,
    expectation: Tensor | None = None,
    greedy: bool = False,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Sample]:
    r"""Sample one key per query and return one-hot weights.

    .. math:: \alpha_t = \mathrm{softmax}(e_t), \quad \tilde s_t \sim \mathrm{Multinoulli}(\alpha_t), \quad
              a_{ts} = [s = \tilde s_t]

    One-hot weights propagate no gradient to the energies; `log_prob` and `entropy` of the sample do, see
    `reinforce_loss`. Sequences selected by `expectation` use α itself, as in soft attention, with gradients through
    their weights.

    Args:
        energy: [B, H, T, S].
        mask: what may be attended; None for everything.
        expectation: [B] booleans, True for sequences that use the expectation; None for none.
        greedy: select the most probable key instead of sampling.
        generator: random generator; None for PyTorch's default.

    Returns:
        Weights [B, H, T, S], in float32 for half-precision energies, and the sample. A row with nothing to attend to
        has zero weights, key -1, log-probability 0 and entropy 0.

    Xu et al. 2015, "Show, Attend and Tell", section 4.1: equation 8 for the draw.

    >>> weights, sample = hard_weights(torch.tensor([[[[0.0, 9.0, 0.0]]]]), greedy=True)
    >>> weights, sample.key.item(), sample.log_prob.item()
    (tensor([[[[0., 1., 0.]]]]), 1, -0.0002)
    """
    if energy.dim() != 4:
        raise ValueError(f"hard: energy must be [B, H, T, S]; got shape {list(energy.shape)}")
    if expectation is not None and (expectation.shape != energy.shape[:1] or expectation.dtype != torch.bool):
        raise ValueError(
            f"hard: expectation must be one boolean a sequence, [B] = {[energy.shape[0]]}; "
            f"got {expectation.dtype} of shape {list(expectation.shape)}"
        )
    energy = restrict(energy, mask)
    if energy.shape[3] == 0:
        nothing = energy.sum(-1)
        return energy, Sample(torch.full_like(nothing, -1, dtype=torch.long), nothing, nothing)
    empty = (energy == -torch.inf).all(dim=-1, keepdim=True)
    log_alpha = energy.masked_fill(empty, 0.0).log_softmax(dim=-1)
    alpha = log_alpha.exp().masked_fill(empty, 0.0)
    key = _choose(alpha.detach(), greedy, generator)
    one_hot = torch.zeros_like(alpha).scatter_(3, key, 1.0).masked_fill(empty, 0.0)
    soft = empty.new_zeros(1) if expectation is None else expectation[:, None, None, None]
    sample = Sample(
        key.masked_fill(soft | empty, -1).squeeze(3),
        log_alpha.gather(3, key).masked_fill(soft | empty, 0.0).squeeze(3),  # [B, H, T]
        -(alpha * log_alpha.masked_fill(alpha == 0, 0.0)).sum(-1),
    )
    return torch.where(soft, alpha, one_hot), sample


def reinforce_loss(
    log_likelihood: Tensor,
    sample: Sample,
    baseline: Tensor | float = 0.0,
    *,
    reward_weight: float = 1.0,
    entropy_weight: float = 0.0,
    lengths: Tensor | None = None,
) -> Tensor:
    r"""Compute the surrogate loss whose gradient is the REINFORCE estimate for hard attention.

    .. math:: -\frac{1}{B} \sum_b \Bigl[\log p(y_b \mid \tilde s_b)
              + \lambda_r \bigl(\log p(y_b \mid \tilde s_b) - b\bigr)_{\text{const}} \log p(\tilde s_b)
              + \lambda_e H[\tilde s_b]\Bigr]

    with log p(s̃) and H summed over heads and queries. The reward in round brackets is treated as a constant. The
    baseline is *subtracted* from it to reduce the variance, which the notes omit. The entropy is *maximised*, which
    encourages exploration. Only the gradient is meaningful, not the value: monitor the log-likelihood instead. With
    λ_r = 1 and λ_e = 0 its expectation is the exact gradient of E[log p(y | s̃)] for any baseline.

    Args:
        log_likelihood: [B], log p(y | s̃) of each sequence, given what was drawn.
        sample: what was drawn, [B, H, T].
        baseline: b, a number or one for each sequence [B]; it must not depend on the sample.
        reward_weight: λ_r.
        entropy_weight: λ_e.
        lengths: [B], how many queries of each sequence count; None for all.

    Returns:
        A scalar.

    Xu et al. 2015, "Show, Attend and Tell", equation 12; Williams 1992.

    >>> sample = Sample(torch.tensor([[[2]]]), torch.tensor([[[-1.5]]]), torch.tensor([[[1.0]]]))
    >>> reinforce_loss(torch.tensor([-3.0]), sample, -5.0).item()    # -(-3 + (-3 + 5)(-1.5))
    6.0
    """
    if log_likelihood.dim() != 1 or log_likelihood.shape != sample.log_prob.shape[:1]:
        raise ValueError(
            "reinforce_loss: log_likelihood must be one number a sequence, [B], with a sample [B, H, T]; "
            f"got {list(log_likelihood.shape)} and {list(sample.log_prob.shape)}"
        )
    log_prob, entropy = (_total(part, lengths) for part in (sample.log_prob, sample.entropy))
    reward = (log_likelihood - baseline).detach()
    return -(log_likelihood + reward_weight * reward * log_prob + entropy_weight * entropy).mean()


def _choose(alpha: Tensor, greedy: bool, generator: torch.Generator | None) -> Tensor:
    """Select one key per row, [B, H, T, 1]: the largest α, or a sample from α."""
    if greedy:
        return alpha.argmax(dim=-1, keepdim=True)
    # Exponential race: the smallest of exponential variables with rates α is number s with probability α_s. A key with
    # α = 0 is never sampled on any device, which a parallel cumulative sum does not guarantee.
    times = torch.empty_like(alpha).exponential_(generator=generator).clamp_(min=torch.finfo(alpha.dtype).tiny)
    return (alpha / times).argmax(dim=-1, keepdim=True)


def _total(part: Tensor, lengths: Tensor | None) -> Tensor:
    """Sum over heads and valid queries: [B, H, T] -> [B]."""
    if lengths is not None:
        late = torch.arange(part.shape[2], device=part.device) >= lengths.to(part.device).unsqueeze(1)
        part = part.masked_fill(late.unsqueeze(1), 0.0)
    return part.sum((1, 2))
