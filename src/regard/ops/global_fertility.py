"""Global fertility (Cohn et al. 2016): a loss on how much attention each source word got in all."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="global_fertility",
    family="structure loss",
    equation="Σ_i log N(Σ_j α_ji; μ(k_i), σ²(k_i))",
    paper='Cohn et al. 2016, "Fertility" (global)',
    cost="S, and S·D·A for μ and σ²",
    op="fertility_log_likelihood",
    module="GlobalFertility",
)


# σ between e^-5, less than a hundredth of a word, and e^5, 148 words: beyond that no fertility means anything, and
# within it σ⁻² is at most e^10 = 22,026.
_LARGEST_LOG_VARIANCE = 10.0


def fertility_log_likelihood(coverage: Tensor, mean: Tensor, log_variance: Tensor, mask: Mask | None = None) -> Tensor:
    r"""Log-likelihood of the fertilities of a sentence, where each word predicts its own.

    .. math:: \sum_i \log \mathcal{N}(f_i;\, \mu_i, \sigma_i^2)
              = -\frac12 \sum_i \Bigl(\log 2\pi + \ell_i + (f_i - \mu_i)^2 e^{-\ell_i}\Bigr),
              \qquad f_i = \sum_j \alpha_{ji}, \quad \ell_i = \log \sigma_i^2

    Args:
        coverage: [B, S], f: what `Attended.coverage()` gives for one head.
        mean: [B, S], μ of each word.
        log_variance: [B, S], log σ² of each word. Beyond ±10 it counts as ±10 and gets no gradient: so the likelihood
            is bounded, and neither it nor a gradient overflows in float32.
        mask: which words count; None for all. It leaves out the padding *and* the sentence marks BOS and EOS, which
            the authors trim: a mark is no word and has no fertility.

    Returns:
        Log-likelihood of each sentence [B], 0 where no word counts; in float32 for half-precision inputs.

    Raises:
        ValueError: shapes that do not fit.

    Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model",
    fertility, the global one. It is *added* to the log-likelihood of the translation.

    >>> coverage, mean = torch.tensor([[0.0, 1.0, 3.0, 9.0]]), torch.tensor([[0.0, 1.0, 1.0, 0.0]])
    >>> inner = Mask.of(torch.tensor([False, True, True, False]))               # without BOS and EOS
    >>> fertility_log_likelihood(coverage, mean, torch.zeros(1, 4), inner)      # -log 2π - (3 - 1)² / 2
    tensor([-3.8379])
    """
    if coverage.dim() != 2 or not coverage.shape == mean.shape == log_variance.shape:
        raise ValueError(
            "global_fertility: coverage, mean and log_variance must be [B, S] alike (one head: average coverage "
            f"over heads); got {list(coverage.shape)}, {list(mean.shape)} and {list(log_variance.shape)}"
        )
    given = (coverage, mean, log_variance)
    coverage, mean, log_variance = (tensor.to(statistics_dtype(tensor.dtype)) for tensor in given)
    if mask is None:
        return _log_normal(coverage - mean, log_variance).sum(1)
    batch, keys = coverage.shape
    ignored = ~mask.allowed((batch, 1, 1, keys), device=coverage.device)[:, 0, 0]
    # Filled before and after: whatever a padded word holds, neither a value nor a gradient comes of it.
    distance, log_variance = (part.masked_fill(ignored, 0.0) for part in (coverage - mean, log_variance))
    return _log_normal(distance, log_variance).masked_fill(ignored, 0.0).sum(1)


def _log_normal(distance: Tensor, log_variance: Tensor) -> Tensor:
    """log N(x; μ, σ²) of each entry, from x - μ and log σ²."""
    log_variance = log_variance.clamp(-_LARGEST_LOG_VARIANCE, _LARGEST_LOG_VARIANCE)
    return -0.5 * (math.log(2.0 * math.pi) + log_variance + distance.square() * torch.exp(-log_variance))
