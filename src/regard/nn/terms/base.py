"""Base classes of terms: features of a pair inside an additive score."""

from __future__ import annotations

import abc

from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.state import Past
from regard.ops.softmax import statistics_dtype


class Term(nn.Module, abc.ABC):
    """Term: features f_ts of a query and a key, which the score maps and adds inside its tanh.

        e_ts = vᵀ tanh(W q_t + U k_s + P f_ts)

    The score owns P; a term defines the features. A term of past alignments keeps them in its state (`start`,
    `advance`) and sets `recurrent`.

    Attributes:
        width: number of features per pair.
    """

    width: int
    recurrent: bool = False

    @abc.abstractmethod
    def forward(self, memory: Memory, past: Past, *, step: int, queries: int) -> Tensor:
        """Features [B, H or 1, T, S, width] of `queries` queries, the first of which is number `step` (from 0)."""

    def start(self, memory: Memory) -> Past:
        """Return the state of the term before the first query."""
        return ()

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        """Return the state after a query with `weights` [B, H, 1, S]."""
        return past


class RecurrentTerm(Term):
    """Term whose state is one tensor of past alignments; a subclass defines its features and its update.

    Gradients flow through the state, which starts from zeros. Each head has its own state; it is part of
    `AttentionState.score`, so that `AttentionState.select` reorders it with a beam.

    >>> class Last(RecurrentTerm):
    ...     '''The weight that the query before gave this key.'''
    ...     width = 1
    ...     def features(self, past):
    ...         return past.unsqueeze(-1)
    ...     def update(self, past, weights):
    ...         return weights
    >>> Last().recurrent
    True
    """

    recurrent = True

    @abc.abstractmethod
    def features(self, past: Tensor) -> Tensor:
        """Features [B, H, 1, S, width] of the next query."""

    @abc.abstractmethod
    def update(self, past: Tensor, weights: Tensor) -> Tensor:
        """Return the past after a query with `weights` [B, H, 1, S]."""

    def nothing(self, memory: Memory) -> Tensor:
        """Return the past before the first query: weights [B, H, 1, S] of zero."""
        batch, heads, size, _ = memory.key.shape
        return memory.key.new_zeros(batch, heads, 1, size, dtype=statistics_dtype(memory.key.dtype))

    def start(self, memory: Memory) -> Past:
        return (self.nothing(memory),)

    def forward(self, memory: Memory, past: Past, *, step: int, queries: int) -> Tensor:
        if queries != 1:
            raise ValueError(
                f"{type(self).__name__} looks at the weights of the query before: it takes one query at a time, "
                f"not {queries}; read through Attention or MultiHead, which sees to it"
            )
        return self.features(_tensor(past))

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        return (self.update(_tensor(past), weights),)


def _tensor(past: Past) -> Tensor:
    (tensor,) = past
    assert isinstance(tensor, Tensor)
    return tensor
