"""Terms inside an additive score: features of a pair beside its content."""

from __future__ import annotations

import abc

from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.state import Past
from regard.ops.softmax import statistics_dtype


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
        """State of the term before the first query."""
        return ()

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        """State after a query that was answered with `weights` [B, H, 1, S]."""
        return past


class RecurrentTerm(Term):
    """A term that remembers one tensor of past alignments: what it is, is all that a new one must say.

    Gradients flow through the past. It starts from zeros: the first query has nothing behind it. Each head has a
    past of its own; it lies in `State.score`, so that `State.select` reorders it with a beam.

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
        """The past after a query that was answered with `weights` [B, H, 1, S]."""

    def nothing(self, memory: Memory) -> Tensor:
        """The past before the first query: a row of weights [B, H, 1, S] that are all 0."""
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
