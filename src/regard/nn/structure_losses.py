"""Losses on the structure of an alignment: doubly stochastic, global fertility, symmetry."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.checks import mapped, positive
from regard.ops.doubly_stochastic import doubly_stochastic_penalty
from regard.ops.global_fertility import fertility_log_likelihood
from regard.ops.symmetry import symmetry_bonus


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


class GlobalFertility(nn.Module):
    r"""Negative log-likelihood of the fertilities of a sentence, where each source word predicts its own.

    .. math:: h_i = \tanh(W k_i), \quad \mu_i = m^\top h_i + m_0, \quad \sigma_i^2 = \exp(s^\top h_i + s_0), \quad
              \mathcal{L} = -\lambda \sum_i \log \mathcal{N}\Bigl(\sum_j \alpha_{ji};\, \mu_i, \sigma_i^2\Bigr)

    Args:
        key_dim: width of the encoder states.
        hidden_dim: width A of the hidden layer.
        weight: λ; 1 in the paper.

    Parameters: `key_map` W, `mean_map` m, `log_variance_map` s.

    The authors add it to a model that is already trained, and train on; from a random start it drowns the
    translation. The hidden layer of their code has a bias as well. log σ² beyond ±10 counts as ±10. See
    `regard.ops.fertility_log_likelihood` (Cohn et al. 2016, global fertility).

    >>> loss = GlobalFertility(key_dim=5, hidden_dim=7)
    >>> loss(torch.rand(2, 11), torch.randn(2, 11, 5), Mask.padding([11, 4])).shape
    torch.Size([2])
    """

    def __init__(self, key_dim: int, hidden_dim: int, *, weight: float = 1.0) -> None:
        super().__init__()
        positive("GlobalFertility", hidden_dim=hidden_dim)
        self.weight = weight
        self.key_map = nn.Linear(key_dim, hidden_dim, bias=False)
        self.mean_map = nn.Linear(hidden_dim, 1)
        self.log_variance_map = nn.Linear(hidden_dim, 1)

    def forward(self, coverage: Tensor, key: Tensor, mask: Mask | None = None) -> Tensor:
        """Negative log-likelihood of each sentence times λ, [B].

        Args:
            coverage: [B, S], Σ_j α_ji over the true target words: `attended.coverage(lengths=...)`.
            key: [B, S, key_dim], the encoder states.
            mask: which source words count: neither padding nor BOS and EOS.
        """
        if key.shape[:2] != coverage.shape:
            raise ValueError(
                "GlobalFertility: coverage [B, S] and key [B, S, key_dim] must share B and S; "
                f"got {list(coverage.shape)} and {list(key.shape)}"
            )
        hidden = torch.tanh(mapped(self, self.key_map, key, "keys"))
        mean: Tensor = self.mean_map(hidden)
        log_variance: Tensor = self.log_variance_map(hidden)
        likelihood = fertility_log_likelihood(coverage, mean.squeeze(2), log_variance.squeeze(2), mask)
        return -self.weight * likelihood

    def extra_repr(self) -> str:
        return f"weight={self.weight}"


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
