"""REINFORCE for hard attention: the score-function term in the loss of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from regard.constraints import draws_are_rewarded
from regard.models.model_output import ModelOutput, log_softmax
from regard.nn.aligners import Hard
from regard.specials import PAD


@dataclass(frozen=True)
class RewardedDraws:
    r"""Score-function term for hard attention: raises the probability of samples that are followed by likely tokens.

    .. math:: -\sum_{n,t} \Bigl[\lambda_r \bigl(R_{nt} - b_{nt}\bigr)_{\text{const}} \log p(\tilde s_{nt})
              + \lambda_e H[\tilde s_{nt}]\Bigr], \quad
              R_{nt} = \sum_{t' \ge t} \log p(y_{nt'} \mid y_{n,<t'}, \tilde s_{n,\le t'})

    The reward R of a sample is the log-probability of the tokens from its own step onwards, since it cannot affect
    earlier ones. The baseline b is the mean log-probability of a token in the *other* sentences of the batch, times the
    number of remaining tokens. It does not depend on the samples of sentence n, so the gradient stays unbiased; and it
    adds no state to a checkpoint. A batch of one sentence has the baseline 0. In distributed training each process
    computes the baseline of its own sentences.

    With λ_r = 1 and λ_e = 0, added to -log p(y | s̃), the expected gradient is exactly that of E[-log p(y | s̃)].
    A sentence that uses the expectation instead of samples (`Hard.expectation_probability`) adds only its entropy.

    Attributes:
        reward: λ_r.
        entropy: λ_e, weight of the entropy bonus, which encourages exploration.

    Xu et al. 2015, section 4.1, equations 11 and 12. They reward every sample with the whole sentence and subtract
    a moving average over past batches, as `regard.nn.Reinforce` does for custom training loops. Its expectation is
    the same, its variance is larger, and it has a state.

    >>> import torch
    >>> logits = torch.tensor([[[0.0, 0.0, 2.0]], [[0.0, 0.0, 0.0]]])            # the first has a good sample
    >>> drawn = {"sample_log_prob": torch.tensor([[[-0.5]], [[-1.5]]]), "sample_entropy": torch.zeros(2, 1, 1)}
    >>> wanted = torch.tensor([[2], [2]])
    >>> RewardedDraws().advantage(ModelOutput(logits), wanted)
    tensor([[ 0.8591],
            [-0.8591]])
    >>> RewardedDraws().loss(ModelOutput(logits, extras=drawn), wanted)
    tensor(-0.8591)
    """

    reward: float = 1.0
    entropy: float = 0.01

    def loss(self, predicted: ModelOutput, wanted: Tensor) -> Tensor:
        """Return the term of a batch, summed over tokens like the negative log-likelihood it is added to.

        Args:
            predicted: output of the model's forward pass, logits [B, T, V]; without samples the term is 0.
            wanted: target ids [B, T]; padding is ignored.
        """
        if "sample_log_prob" not in predicted.extras:
            return predicted.logits.new_zeros(())
        inside = wanted != PAD
        log_prob, entropy = (predicted.extras[f"sample_{name}"].sum(1) for name in ("log_prob", "entropy"))
        gain = self.reward * self.advantage(predicted, wanted) * log_prob + self.entropy * entropy
        return -gain.masked_fill(~inside, 0.0).sum()

    def advantage(self, predicted: ModelOutput, wanted: Tensor) -> Tensor:
        """Return R - b of each step, [B, T], without gradient; 0 at padding."""
        inside = wanted != PAD
        said = log_softmax(predicted.logits.detach()).gather(2, wanted.unsqueeze(2)).squeeze(2)  # [B, T]
        said = said.masked_fill(~inside, 0.0)
        total, words = said.sum(1), inside.sum(1)
        mean = (total.sum() - total) / (words.sum() - words).clamp(min=1)  # per token, over the other sentences
        # The suffix sum of differences equals the reward minus the mean times the number of remaining tokens.
        return _from_here_on((said - mean.unsqueeze(1)).masked_fill(~inside, 0.0))


def check_draws(model: nn.Module) -> None:
    """Check that every sample of a model receives a reward.

    Raises:
        ValueError: hard attention whose samples do not all reach the loss, so that the gradient would be biased.
    """
    if not any(isinstance(module, Hard) for module in model.modules()):
        return
    for module in model.modules():
        if (kind := getattr(module, "unrewarded_draws", None)) is not None:
            draws_are_rewarded(kind)


def _from_here_on(steps: Tensor) -> Tensor:
    """Return the suffix sums over t' >= t, [B, T]."""
    return steps.flip(1).cumsum(1).flip(1)
