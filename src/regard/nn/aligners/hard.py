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
    r"""Hard attention: each query looks at one key, drawn from softmax(e).

    .. math:: \tilde s_t \sim \mathrm{Multinoulli}(\mathrm{softmax}(e_t)), \quad c_t = \mathrm{value}_{\tilde s_t}

    In training each *sequence* is switched with probability `expectation_probability` to the expectation, that is to
    soft attention, for all its queries: the switch is drawn when reading starts and travels in the state, so that
    reading step by step is the same process as reading all at once. In evaluation everything takes the expectation,
    as in the paper, unless `at_test` says otherwise.

    The outcome's `sample` holds what was drawn with its log-probability; `Reinforce` makes a loss of it. Without
    that loss the energies of drawn rows have no gradient.

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
        """Draw the sequences that take the expectation, [B] booleans."""
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
