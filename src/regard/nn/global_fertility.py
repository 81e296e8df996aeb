"""The global fertility loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.checks import mapped, positive
from regard.ops.global_fertility import fertility_log_likelihood


class GlobalFertility(nn.Module):
    r"""How unlikely the fertilities of a sentence are, where each source word predicts its own.

    .. math:: h_i = \tanh(W k_i), \quad \mu_i = m^\top h_i + m_0, \quad \sigma_i^2 = \exp(s^\top h_i + s_0), \quad
              \mathcal{L} = -\sum_i \log \mathcal{N}\Bigl(\sum_j \alpha_{ji};\, \mu_i, \sigma_i^2\Bigr)

    Args:
        key_dim: width of the encoder states.
        hidden_dim: width A of the hidden layer.

    Parameters: `key_map` W, `mean_map` m, `log_variance_map` s.

    The authors add it to a model that is already trained, and train on; from a random start it drowns the
    translation. The hidden layer of their code has a bias as well. log σ² beyond ±10 counts as ±10. See
    `regard.ops.fertility_log_likelihood` (Cohn et al. 2016, global fertility).

    >>> loss = GlobalFertility(key_dim=5, hidden_dim=7)
    >>> loss(torch.rand(2, 11), torch.randn(2, 11, 5), Mask.padding([11, 4])).shape
    torch.Size([2])
    """

    def __init__(self, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        positive("GlobalFertility", hidden_dim=hidden_dim)
        self.key_map = nn.Linear(key_dim, hidden_dim, bias=False)
        self.mean_map = nn.Linear(hidden_dim, 1)
        self.log_variance_map = nn.Linear(hidden_dim, 1)

    def forward(self, coverage: Tensor, key: Tensor, mask: Mask | None = None) -> Tensor:
        """Negative log-likelihood of each sentence, [B].

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
        return -fertility_log_likelihood(coverage, mean.squeeze(2), log_variance.squeeze(2), mask)
