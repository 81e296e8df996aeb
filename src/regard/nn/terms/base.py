"""What is known of a pair beside its content: terms inside an additive score."""

from __future__ import annotations

import abc

from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.state import Past


class Term(nn.Module, abc.ABC):
    """A term: features f_ts of a query and a key that the score maps and adds inside its tanh.

        e_ts = vᵀ tanh(W q_t + U k_s + P f_ts)

    The score owns P; a term says only what the features are. One that looks at past alignments remembers them
    itself (`start`, `advance`) and sets `recurrent`.

    Attributes:
        width: how many features it gives a pair.
    """

    width: int
    recurrent: bool = False

    @abc.abstractmethod
    def forward(self, memory: Memory, past: Past, *, step: int, queries: int) -> Tensor:
        """Features [B, H or 1, T, S, width] of `queries` queries, the first of which is number `step` (from 0)."""

    def start(self, memory: Memory) -> Past:
        """What the term remembers before the first query."""
        return ()

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        """What it remembers after a query that was answered with `weights` [B, H, 1, S]."""
        return past
