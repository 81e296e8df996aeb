"""Memory shared by adjacent sequences: the hypotheses of a beam."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from regard.nn.aligners.softmax import Softmax
from regard.nn.attention import Attention
from regard.nn.attention_module import AttentionModule
from regard.nn.cpu_decode.packing import PackedLinear
from regard.nn.key_value import KeyValue
from regard.nn.memory import Memory
from regard.nn.scores.additive import Additive
from regard.nn.scores.bilinear import Bilinear
from regard.nn.scores.dot import Dot, ScaledDot
from regard.nn.state import AttentionState
from regard.ops.additive.cpu_sigmoid import relative_score
from regard.ops.attended import Attended
from regard.ops.softmax import masked_softmax

_SIDE_BY_SIDE = (Additive, Bilinear, Dot, ScaledDot)


@dataclass(frozen=True, eq=False)
class SharedMemory:
    """Memory whose rows are each read by `copies` adjacent sequences.

    A beam repeats, reorders and drops hypotheses at every step, but those of one input stay adjacent. Their source is
    therefore not copied, and where reads differ in the query alone, they become several queries of one row.

    Attributes:
        memory: a memory of B / copies rows.
        copies: number of sequences per row.

    >>> source = SharedMemory(Memory(torch.zeros(2, 1, 3, 4), torch.zeros(2, 1, 3, 5)))
    >>> beam = source.select(torch.tensor([0, 0, 1, 1]))                # two hypotheses for each of two inputs
    >>> beam.copies, beam.memory is source.memory
    (2, True)
    >>> beam.select(torch.tensor([1, 0, 3, 3])).memory is source.memory       # reordered: the source stays
    True
    >>> beam.select(torch.tensor([3, 2])).memory.key.shape                    # the first input is done
    torch.Size([1, 1, 3, 4])
    """

    memory: Memory
    copies: int = 1

    def select(self, rows: Tensor, numbers: Sequence[int] | None = None) -> SharedMemory:
        """Keep, repeat or reorder the sequences; `rows`: [B'] indices, `numbers` the same as a list where it is known.

        They are needed on the host, which synchronises with a GPU once per step.
        """
        owners = [row // self.copies for row in (rows.tolist() if numbers is None else numbers)]
        copies = math.gcd(*(len(list(run)) for _, run in groupby(owners))) or 1
        kept = owners[::copies]
        if kept == list(range(self.memory.key.shape[0])):
            return SharedMemory(self.memory, copies)
        return SharedMemory(self.memory.select(torch.tensor(kept, dtype=torch.long, device=rows.device)), copies)

    def read(self, attention: AttentionModule | KeyValue, query: Tensor, state: AttentionState | None) -> Attended:
        """Read the memory with queries [B, T, C]."""
        if isinstance(attention, Attention) and self._quick(attention, query):
            return self._read_additive(attention, query, state)
        if self.copies == 1:
            return attention.read(query, self.memory, state)
        reader = attention.attention if isinstance(attention, KeyValue) else attention
        if query.shape[1] != 1 or not self._together(reader):
            rows = torch.arange(self.memory.key.shape[0], device=query.device).repeat_interleave(self.copies)
            return attention.read(query, self.memory.select(rows), state)
        together = attention.read(query.view(-1, self.copies, query.shape[2]), self.memory, state)
        after = AttentionState(1 if state is None else state.step + 1)
        return _apart(together, self.copies, after, has_heads=reader._has_heads)

    def _quick(self, attention: Attention, query: Tensor) -> bool:
        """Return whether this is a step of a packed model by an additive score, on a CPU and without gradient."""
        score = attention.score
        if torch.is_grad_enabled() or attention.training or not query.is_cpu or query.dtype != torch.float32:
            return False
        packed = isinstance(score, Additive) and isinstance(score.query_map, PackedLinear) and attention.impl is None
        return packed and query.shape[1] == 1 and self._together(attention)

    def _read_additive(self, attention: Attention, query: Tensor, state: AttentionState | None) -> Attended:
        """Read with the copies of a row as its queries, in the sigmoid form for any size."""
        score, memory = attention.score, self.memory
        assert isinstance(score, Additive)
        assert score.query_map is not None
        rows, _, size, width = memory.key.shape
        queries = score.query_map(query).view(rows, 1, self.copies, width)
        energy = relative_score(queries, memory.key, score.weight).squeeze(1)
        weights = energy.softmax(-1) if memory.bias is None else masked_softmax(energy + memory.bias)
        context = torch.bmm(weights, memory.value.squeeze(1)).flatten(0, 1).unsqueeze(1)
        after = AttentionState(1 if state is None else state.step + 1)
        return Attended.from_weights(
            context, weights.view(-1, 1, 1, size), has_heads=False, state=after, impl="cpu_sigmoid"
        )

    def _together(self, reader: AttentionModule) -> bool:
        """Return whether reads differ in the query alone, and no watcher expects reads per sequence."""
        mask = self.memory.mask
        return is_pairwise_score(reader) and not reader._watchers and (mask is None or not mask.by_position)


def is_pairwise_score(reader: AttentionModule) -> bool:
    """Return whether energies depend on query and key alone, and weights on energies alone."""
    score = reader.score
    plain = type(score) in _SIDE_BY_SIDE and not (isinstance(score, Additive) and len(score.terms))
    return plain and type(reader.align) is Softmax


def _apart(together: Attended, copies: int, after: AttentionState, *, has_heads: bool) -> Attended:
    """Split the read of [B / copies, copies, C] queries into reads of B sequences with one query each."""
    rows, heads, _, keys = together.shape

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        weights = together.weights(heads=head) if has_heads else together.weights().unsqueeze(1)
        return weights.transpose(1, 2).flatten(0, 1).unsqueeze(2).index_select(2, row)  # [B, h, t, S]

    context = together.context.flatten(0, 1).unsqueeze(1)
    return Attended(
        context, weigh, (rows * copies, heads, 1, keys), has_heads=has_heads, state=after, impl=together.impl
    )
