"""Base classes of attention modules: a query reads a memory."""

from __future__ import annotations

import abc
from collections import OrderedDict
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.hooks import RemovableHandle

from regard.masks import Mask
from regard.nn.aligners.base import Aligner
from regard.nn.aligners.softmax import Softmax
from regard.nn.checks import probability
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.checks import check_impl
from regard.ops.hard import Sample
from regard.ops.softmax import weigh_values

Watcher = Callable[[Attended], None]


class CapturableModule(nn.Module):
    """Base of modules that attend: hooks can capture their attention without changing the computation."""

    def __init__(self) -> None:
        super().__init__()
        self._watchers: OrderedDict[int, Watcher] = OrderedDict()

    def watch(self, watcher: Watcher) -> RemovableHandle:
        """Call `watcher` with each `Attended` of this module until `remove()` of the returned handle."""
        handle = RemovableHandle(self._watchers)
        self._watchers[handle.id] = watcher
        return handle

    def show(self, attended: Attended) -> Attended:
        """Pass a result to all watchers and return it; each read of a module ends with this call."""
        if self._watchers:
            for watcher in tuple(self._watchers.values()):
                watcher(attended)
        return attended


class AttentionModule(CapturableModule, abc.ABC):
    """Score, align, weighted sum over a memory: attention without the layout of values and contexts.

    `forward` reads all queries in parallel. `remember` followed by `read` per step, with `out.state` passed on, gives
    the same result.
    """

    def __init__(
        self, score: Score, align: Aligner | None = None, *, dropout: float = 0.0, impl: str | None = None
    ) -> None:
        super().__init__()
        _check_parts(self, score, align)
        probability(type(self).__name__, dropout=dropout)
        self.score = score
        self.align = Softmax() if align is None else align
        self.dropout = dropout
        self.impl = impl
        check_impl(type(score).__name__, score.implementations, impl)
        if dropout and impl in score.without_dropout:
            raise ValueError(f"{type(score).__name__}: the implementation {impl} cannot drop weights; use reference")
        if score.from_the_end and self.recurrent:
            raise ValueError(
                f"{type(score).__name__} places queries together, {type(self.align).__name__} takes them one by one: "
                "they cannot be combined"
            )
        if impl is not None and not self._fused:
            part = score if score.recurrent else self.align
            raise ValueError(
                f"impl={impl!r} chooses among softmax reads of all queries; {type(part).__name__} has none"
            )

    @property
    def recurrent(self) -> bool:
        """True if a query depends on the weights of those before it."""
        return self.score.recurrent or self.align.recurrent

    @property
    def _fused(self) -> bool:
        """True if the score can fuse energy, softmax and weighted sum."""
        return type(self.align) is Softmax and not self.recurrent

    def forward(
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None, mask: Mask | None = None
    ) -> Attended:
        """Read with all queries in parallel.

        Args:
            query: [B, T, Cq].
            key: [B, S, Ck]; None for the query itself (self-attention).
            value: [B, S, Cv]; None for the key.
            mask: what may be attended; None for everything.

        Returns:
            Attended with context [B, T, C].
        """
        return self.read(query, self.remember(query if key is None else key, value, mask))

    def remember(self, key: Tensor, value: Tensor | None = None, mask: Mask | None = None) -> Memory:
        """Project keys and values once for repeated reads. `value` None: the key."""
        _check_places(key, value, mask)
        value = key if value is None else value
        if key.dim() != 3 or value.dim() != 3 or key.shape[:2] != value.shape[:2]:
            raise ValueError(
                f"key must be [B, S, Ck] and value [B, S, Cv], with one B and S; "
                f"got {list(key.shape)} and {list(value.shape)}"
            )
        return Memory(self.score.keys(key), self._values(value), mask)

    def start(self, memory: Memory) -> AttentionState:
        """Return the state before the first query."""
        return AttentionState(0, self.score.start(memory), self.align.start(memory))

    def read(self, query: Tensor, memory: Memory, state: AttentionState | None = None) -> Attended:
        """Read `memory` with queries [B, T, Cq]; pass `state` of the result to the next read."""
        if query.dim() != 3 or query.shape[0] != memory.key.shape[0]:
            raise ValueError(
                f"query must be [B, T, Cq] with the B = {memory.key.shape[0]} of the memory; got {list(query.shape)}"
            )
        one_by_one = query.shape[1] != 1 and self.recurrent
        if state is None:
            state = self.start(memory.row(0, query.shape[1]) if one_by_one else memory)
        attended, after = (self._one_by_one if one_by_one else self._at_once)(query, memory, state)
        context = self._contexts(attended.context)
        return self.show(attended.replace(context=context, has_heads=self._has_heads, state=after))

    def _at_once(self, query: Tensor, memory: Memory, state: AttentionState) -> tuple[Attended, AttentionState]:
        """Return the context in the layout of the ops, [B, H, T, Dv], and the state after it."""
        score, align = self.score, self.align
        dropout = self.dropout if self.training else 0.0
        queries, step = score.queries(query), state.step + query.shape[1]
        if type(align) is Softmax and not score.recurrent:
            attended = score.attend(queries, memory, state, dropout=dropout, impl=self.impl)
            return attended, AttentionState(step, state.score, state.align)
        energy = score.energy(queries, memory, state)
        weights, past, sample = align(energy, query, memory, state)
        context = weigh_values(F.dropout(weights, dropout), memory.value)
        after = AttentionState(step, score.advance(state.score, weights, memory), past)
        return Attended.from_weights(context, weights, sample=sample), after

    def _one_by_one(self, query: Tensor, memory: Memory, state: AttentionState) -> tuple[Attended, AttentionState]:
        reads = []
        for row in range(query.shape[1]):
            read, state = self._at_once(query[:, row : row + 1], memory.row(row, query.shape[1]), state)
            reads.append(read)
        if not reads:
            empty = memory.value.new_zeros(*memory.value.shape[:2], 0, memory.value.shape[3])
            return Attended.from_weights(empty, empty.new_zeros(*empty.shape[:3], memory.size)), state
        weights = torch.cat([read.weights() for read in reads], dim=2)
        context = torch.cat([read.context for read in reads], dim=2)
        samples = [read.sample for read in reads if read.sample is not None]
        return Attended.from_weights(context, weights, sample=Sample.join(samples) if samples else None), state

    _has_heads: bool
    """True if weights carry a head axis: [B, H, T, S] or [B, T, S]."""

    @abc.abstractmethod
    def _values(self, value: Tensor) -> Tensor:
        """[B, S, Cv] -> [B, H, S, Dv]."""

    @abc.abstractmethod
    def _contexts(self, context: Tensor) -> Tensor:
        """[B, H, T, Dv] -> [B, T, C]."""

    def extra_repr(self) -> str:
        parts = [f"dropout={self.dropout}"] * bool(self.dropout) + [f"impl={self.impl!r}"] * bool(self.impl)
        return ", ".join(parts)


def _check_parts(owner: nn.Module, score: object, align: object) -> None:
    for part, kind in ((score, Score), (align, Aligner | None)):
        if not isinstance(part, kind):
            raise TypeError(
                f"{type(owner).__name__} takes a score and an aligner, for example Dot() and Softmax(); got {part!r}"
            )


def _check_places(key: object, value: object, mask: object) -> None:
    if isinstance(key, Mask) or isinstance(value, Mask):
        raise TypeError("the mask is the last argument; write mask=...")
    Mask.check(mask)
