"""The hard aligner."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from regard.arguments import Probability, checked
from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past
from regard.ops.hard import hard_weights

AtTest = Literal["expectation", "argmax", "sample"]


class Hard(Aligner):
    r"""Hard attention: each query attends to one key, sampled from softmax(e).

    .. math:: \tilde s_t \sim \mathrm{Multinoulli}(\mathrm{softmax}(e_t)), \quad c_t = \mathrm{value}_{\tilde s_t}

    In training each *sequence* uses the expectation, that is soft attention, with probability
    `expectation_probability`, for all its queries: the choice is sampled in `start` and carried in the state, so that
    step-by-step reads follow the same process as parallel ones. In evaluation all sequences use the expectation, as in
    the paper, unless `at_test` specifies otherwise.

    `Attended.sample` holds the sampled positions with their log-probabilities, from which `Reinforce` computes a loss.
    Without that loss the energies of sampled rows have no gradient.

    Args:
        expectation_probability: probability that a training sequence reads the expectation instead of a sample; 1/2 in
            the paper.
        at_test: context in evaluation: the `"expectation"`, the most probable key (`"argmax"`), or a `"sample"`.

    No parameters. Xu et al. 2015, section 4.1; see `regard.ops.hard_weights`.

    >>> from regard.nn import Attention, Dot
    >>> attention = Attention(Dot(), Hard(expectation_probability=0.0))
    >>> out = attention(torch.randn(2, 3, 5), torch.randn(2, 7, 5))
    >>> out.weights().unique(), out.sample.log_prob.shape
    (tensor([0., 1.]), torch.Size([2, 1, 3]))
    """

    @checked()
    def __init__(self, expectation_probability: Probability = 0.5, *, at_test: AtTest = "expectation") -> None:
        super().__init__()
        self.expectation_probability = expectation_probability
        self.at_test = at_test

    def start(self, memory: Memory) -> Past:
        """Sample the sequences that use the expectation, booleans [B]."""
        probability = self.expectation_probability if self.training else float(self.at_test == "expectation")
        return (torch.rand(memory.key.shape[0], device=memory.key.device) < probability,)

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        (expectation,) = state.align
        assert isinstance(expectation, Tensor)
        greedy = not self.training and self.at_test == "argmax"
        weights, sample = hard_weights(energy, memory.mask, expectation=expectation, greedy=greedy)
        return Aligned(weights, state.align, sample)

    def extra_repr(self) -> str:
        return f"expectation_probability={self.expectation_probability}, at_test={self.at_test!r}"
