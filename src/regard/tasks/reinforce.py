"""REINFORCE for hard attention: its term in the loss of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from regard.constraints import draws_are_rewarded
from regard.models.model_output import ModelOutput, log_softmax
from regard.nn.aligners import Hard
from regard.specials import PAD


@dataclass(frozen=True)
class RewardedDraws:
    r"""Score-function term for hard attention: draws followed by likely words become more likely.

    .. math:: -\sum_{n,t} \Bigl[\lambda_r \bigl(R_{nt} - b_{nt}\bigr)_{\text{const}} \log p(\tilde s_{nt})
              + \lambda_e H[\tilde s_{nt}]\Bigr], \quad
              R_{nt} = \sum_{t' \ge t} \log p(y_{nt'} \mid y_{n,<t'}, \tilde s_{n,\le t'})

    The reward R of a draw is the log-probability of the words from its own step on: the draw cannot have changed those
    before. The baseline b is the mean log-probability of a word in the *other* sentences of the batch, times the
    number of words from this step on. No draw of sentence n has a part in it, so it leaves the expectation of the
    gradient as it is; and it is no state that a resumed run would need. A batch of one sentence has the baseline
    0; with several processes each has the baseline of its own sentences.

    With λ_r = 1 and λ_e = 0, added to -log p(y | s̃), the expected gradient is that of E[-log p(y | s̃)], exactly.
    Where a sentence took the expectation instead of draws (`Hard.expectation_probability`) only its entropy counts.

    Attributes:
        reward: λ_r.
        entropy: λ_e, how much looking around is worth.

    Xu et al. 2015, section 4.1, equations 11 and 12. They reward every draw with the whole sentence, and subtract a
    moving average of past batches: that is `regard.nn.Reinforce`, for loops of one's own. It has the same expectation
    with more variance, and a state.

    >>> import torch
    >>> logits = torch.tensor([[[0.0, 0.0, 2.0]], [[0.0, 0.0, 0.0]]])            # the first sentence looked well
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
        """Return the term of a batch, a sum over words: to be added to their summed -log p.

        Args:
            predicted: the outcome of the model's forward pass, logits [B, T, V]; without draws the term is 0.
            wanted: ids [B, T] that the logits are of; padding does not count.
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
        said = log_softmax(predicted.logits.detach()).gather(2, wanted.unsqueeze(2)).squeeze(2)
        said = said.masked_fill(~inside, 0.0)
        total, words = said.sum(1), inside.sum(1)
        mean = (total.sum() - total) / (words.sum() - words).clamp(min=1)  # of a word in the other sentences
        return _from_here_on((said - mean.unsqueeze(1)).masked_fill(~inside, 0.0))


def check_draws(model: nn.Module) -> None:
    """Check that every draw of a model has a reward.

    Raises:
        ValueError: hard attention where some draws never reach the loss, so that the gradient would not be that of the
            expectation.
    """
    if not any(isinstance(module, Hard) for module in model.modules()):
        return
    for module in model.modules():
        if (kind := getattr(module, "unrewarded_draws", None)) is not None:
            draws_are_rewarded(kind)


def _from_here_on(steps: Tensor) -> Tensor:
    """Return the sum over t' >= t, [B, T]."""
    return steps.flip(1).cumsum(1).flip(1)
