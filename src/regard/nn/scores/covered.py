"""Scores with a coverage term."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState, Past
from regard.ops.softmax import statistics_dtype


class Covered(Score):
    r"""Any score plus a coverage term, which favours or penalises keys that were attended before.

    .. math:: e_{ts} = \mathrm{score}(q_t, k_s) + w\, c_{ts}, \quad c_{ts} = \sum_{t' < t} a_{t's}

    Args:
        score: of any kind; an additive one takes the coverage inside its tanh instead (`Fertility(reach=0)`).

    Parameters: `weight` w [H], initialised to zero, so that it starts as the plain score.

    After See, Liu & Manning 2017, equation 11, for scores without a hidden layer.

    >>> from regard.nn import Attention, Dot
    >>> covered = Covered(Dot())
    >>> _ = covered.weight.data.fill_(-9.0)
    >>> Attention(covered)(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3)).weights()
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]], grad_fn=...)
    """

    recurrent = True

    def __init__(self, score: Score) -> None:
        super().__init__(num_heads=score.num_heads)
        self.score = score
        self.weight = nn.Parameter(torch.zeros(score.num_heads))

    def queries(self, query: Tensor) -> Tensor:
        return self.score.queries(query)

    def keys(self, key: Tensor) -> Tensor:
        return self.score.keys(key)

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        covered, inner = state.score
        assert isinstance(covered, Tensor)
        assert isinstance(inner, tuple)
        energy = self.score.energy(query, memory, AttentionState(state.step, inner, state.align))
        return energy + (self.weight[:, None, None] * covered).to(energy.dtype)  # [B, H, 1, S]

    def start(self, memory: Memory) -> Past:
        batch, heads, size, _ = memory.key.shape
        nothing = memory.key.new_zeros(batch, heads, 1, size, dtype=statistics_dtype(memory.key.dtype))
        return (nothing, self.score.start(memory))

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        covered, inner = past
        assert isinstance(covered, Tensor)
        assert isinstance(inner, tuple)
        return (covered + weights, self.score.advance(inner, weights, memory))
