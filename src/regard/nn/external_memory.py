"""Large memory shared by all sequences of a batch: attended in chunks, or by exact nearest-neighbour search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from regard.nn.attention_module import AttentionModule
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.shared_memory import SharedMemory, is_pairwise_score
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.softmax import masked_softmax, restrict, weigh_values

_HELD = 1 << 22  # maximum number of energies in memory: 16 MiB in float32
_LEAST = 256  # minimum number of entries per chunk


@dataclass(frozen=True, eq=False)
class ExternalMemory:
    r"""The source of each sequence together with one memory shared by all sequences, under one softmax.

    .. math:: a_t = \mathrm{softmax}([\,e(q_t, \text{own});\; e(q_t, \text{external})\,]), \quad
              c_t = \sum_s a_{ts} v_s

    The external memory has one row, which is copied neither per sequence nor per hypothesis. Energies are computed in
    chunks, which are merged by their log-sum-exps, so memory use does not grow with N, also in training. With
    `nearest`, the softmax of each query includes only the k external entries with the largest energies (exact search),
    as if the others were masked.

    Attributes:
        own: the source; None to attend to the external memory only.
        external: keys [1, H, N, D] and values [1, H, N, Dv], without a mask.
        nearest: k; None for all entries.

    Weights are [B, H, T, S + N], the source first. Supported scores depend on query and key alone: dot, scaled dot,
    bilinear, additive without terms.

    >>> from regard.nn import MultiHead, ScaledDot
    >>> attention = MultiHead(ScaledDot(6, 6, 3, num_heads=2), value_dim=6, head_dim=3, output_dim=6).eval()
    >>> own = SharedMemory(attention.remember(torch.randn(5, 7, 6)))                    # five sources
    >>> both = ExternalMemory(own, attention.remember(torch.randn(1, 100, 6)), nearest=4)
    >>> out = both.read(attention, torch.randn(5, 1, 6), None)
    >>> out.weights().shape, int((out.weights()[0, 0, 0, 7:] > 0).sum())
    (torch.Size([5, 2, 1, 107]), 4)
    >>> both.select(torch.tensor([3, 3, 3])).external is both.external
    True
    """

    own: SharedMemory | None
    external: Memory
    nearest: int | None = None

    def __post_init__(self) -> None:
        rows, _, size, _ = self.external.key.shape
        if rows != 1 or self.external.mask is not None:
            raise ValueError(f"an external memory has one row, without a mask; got {rows} rows, {self.external.mask}")
        if not size:
            raise ValueError("an external memory is empty; remember at least one entry")
        if self.nearest is not None and self.nearest < 1:
            raise ValueError(f"nearest is how many entries are read, at least 1; got {self.nearest}")

    @property
    def own_size(self) -> int:
        """S, number of source entries per sequence."""
        return 0 if self.own is None else self.own.memory.size

    def select(self, rows: Tensor, numbers: Sequence[int] | None = None) -> ExternalMemory:
        """Keep, repeat or reorder the sequences; the external memory stays as it is."""
        own = None if self.own is None else self.own.select(rows, numbers)
        return ExternalMemory(own, self.external, self.nearest)

    def read(self, attention: AttentionModule, query: Tensor, state: AttentionState | None) -> Attended:
        """Attend to both memories with queries [B, T, C]."""
        if not is_pairwise_score(attention):
            raise ValueError(
                f"an external memory is read by a dot, scaled dot, bilinear or plain additive score with softmax; got "
                f"{type(attention.score).__name__} with {type(attention.align).__name__}"
            )
        if self.own is not None and self.own.memory.mask is not None and self.own.memory.mask.by_position:
            raise ValueError("beside an external memory the source has padding and no other mask")
        queries = attention.score.queries(query)
        state = AttentionState() if state is None else state
        looking = _ReadSettings(attention.score, state, attention.dropout if attention.training else 0.0)
        context = _merged(list(self._parts(looking, queries)))
        size = self.own_size + self.external.size
        attended = Attended(
            attention._contexts(context.to(self.external.value.dtype)),
            lambda head, row: self._weights(looking, queries.index_select(2, row)).index_select(1, head),
            (*queries.shape[:3], size),
            has_heads=attention._has_heads,
            state=AttentionState(state.step + query.shape[1]),
            impl="nearest" if self.nearest is not None else "pieces",
        )
        return attention.show(attended)

    def _parts(self, looking: _ReadSettings, queries: Tensor) -> Iterator[_PartialRead]:
        """Yield the reads of the source and of each chunk of the external memory."""
        if self.own is not None:
            yield looking.part(queries, self.own.memory)
        if self.nearest is not None and self.nearest < self.external.size:
            yield self._nearest_part(looking, queries, self.nearest)
            return
        pieces = list(_pieces(self.external, queries))
        for piece in pieces:
            if len(pieces) == 1 or not torch.is_grad_enabled():
                yield looking.part(queries, piece)
            else:  # checkpointing: energies of a chunk are recomputed in the backward pass, never all held together
                yield _PartialRead(
                    *checkpoint(_read_again, looking, queries, piece.key, piece.value, use_reentrant=False)
                )

    def _nearest_part(self, looking: _ReadSettings, queries: Tensor, k: int) -> _PartialRead:
        """Attend to the nearest entries, which differ per query and head."""
        batch, heads, steps, _ = queries.shape
        entries = self._found(looking, queries, k).transpose(0, 1).flatten(1)  # [H, B * T * k]

        def chosen(rows: Tensor) -> Tensor:
            width = rows.shape[-1]
            taken = rows[0].gather(1, entries.unsqueeze(2).expand(-1, -1, width))  # [H, B * T * k, D]
            return taken.view(heads, batch, steps, k, width).permute(1, 2, 0, 3, 4).flatten(0, 1)  # [B * T, H, k, D]

        alone = queries.transpose(1, 2).flatten(0, 1).unsqueeze(2)  # [B * T, H, 1, D]
        context, total = looking.part(alone, Memory(chosen(self.external.key), chosen(self.external.value)))
        # [B, H, T, Dv] and [B, H, T, 1]
        return _PartialRead(*(part.view(batch, steps, heads, -1).transpose(1, 2) for part in (context, total)))

    @torch.no_grad()
    def _found(self, looking: _ReadSettings, queries: Tensor, k: int) -> Tensor:
        """Return the indices of the k entries with the largest energies, [B, H, T, k]."""
        best = queries.new_empty(*queries.shape[:3], 0)
        entries = torch.empty_like(best, dtype=torch.long)
        first = 0
        for piece in _pieces(self.external, queries):
            energy = looking.energy(queries, piece)
            near = energy.topk(min(k, piece.size), dim=-1)
            best, entries = torch.cat((best, near.values), -1), torch.cat((entries, near.indices + first), -1)
            kept = best.topk(min(k, best.shape[-1]), dim=-1)
            best, entries = kept.values, entries.gather(-1, kept.indices)  # [B, H, T, k] each
            first += piece.size
        return entries

    def _weights(self, looking: _ReadSettings, queries: Tensor) -> Tensor:
        """Return the weights of some queries over source and external memory, [B, H, t, S + N]."""
        energies = [] if self.own is None else [looking.energy(queries, self.own.memory)]
        external = looking.energy(queries, self.external)
        if self.nearest is not None and self.nearest < self.external.size:
            far = torch.ones_like(external, dtype=torch.bool)
            far.scatter_(-1, self._found(looking, queries, self.nearest), False)
            external = external.masked_fill(far, -torch.inf)
        return masked_softmax(torch.cat((*energies, external), dim=-1))


class _PartialRead(NamedTuple):
    """Attention to one part: the context [B, H, T, Dv] and the log-sum-exp of its energies [B, H, T, 1]."""

    context: Tensor
    total: Tensor


@dataclass(frozen=True)
class _ReadSettings:
    """Settings of a read: queries [B, H, T, D] of a memory of B / copies rows, each shared by `copies` neighbours."""

    score: Score
    state: AttentionState
    dropout: float

    def energy(self, queries: Tensor, memory: Memory) -> Tensor:
        """Compute energies [B, H, T, S], -inf at masked entries."""
        rows, copies = _shared(queries, memory)
        return _apart(self._energy(_together(queries, rows, copies), memory), copies)

    def part(self, queries: Tensor, memory: Memory) -> _PartialRead:
        """Attend to one memory alone."""
        rows, copies = _shared(queries, memory)
        energy = self._energy(_together(queries, rows, copies), memory)
        nowhere = energy.detach().amax(dim=-1, keepdim=True) == -torch.inf
        energy = energy.masked_fill(nowhere, 0.0)
        total = energy.logsumexp(dim=-1, keepdim=True)
        weights = (energy - total).exp().masked_fill(nowhere, 0.0)
        value = memory.value.to(weights.dtype)
        context = weigh_values(F.dropout(weights, self.dropout), value)
        return _PartialRead(_apart(context, copies), _apart(total.masked_fill(nowhere, -torch.inf), copies))

    def _energy(self, queries: Tensor, memory: Memory) -> Tensor:
        return restrict(self.score.energy(queries, memory, self.state), memory.mask)


def _read_again(looking: _ReadSettings, queries: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return looking.part(queries, Memory(key, value))


def _merged(parts: Sequence[_PartialRead]) -> Tensor:
    """Merge the contexts of all parts, weighted by each part's share of the softmax."""
    shares = masked_softmax(torch.cat([part.total for part in parts], dim=-1))
    context = parts[0].context * shares[..., :1]
    for position, part in enumerate(parts[1:], start=1):
        context = context + part.context * shares[..., position : position + 1]
    return context


def _pieces(memory: Memory, queries: Tensor) -> Iterator[Memory]:
    """Split a memory into chunks, sized so that the energies of a chunk fit in the budget `_HELD`."""
    rows = math.prod(queries.shape[:3])
    size = max(_LEAST, _HELD // max(1, rows))
    for key, value in zip(memory.key.split(size, dim=2), memory.value.split(size, dim=2), strict=True):
        yield Memory(key, value)


def _shared(queries: Tensor, memory: Memory) -> tuple[int, int]:
    """Return the number of rows of a memory and the number of sequences per row."""
    rows = memory.key.shape[0]
    return rows, len(queries) // rows if rows else 1


def _together(queries: Tensor, rows: int, copies: int) -> Tensor:
    """Merge sequences that share a row into its queries: [rows * copies, H, T, D] -> [rows, H, copies * T, D]."""
    if copies == 1:
        return queries
    _, heads, steps, width = queries.shape
    # [rows, copies, H, T, D] -> [rows, H, copies, T, D] -> [rows, H, copies * T, D]
    return queries.view(rows, copies, heads, steps, width).transpose(1, 2).reshape(rows, heads, copies * steps, width)


def _apart(read: Tensor, copies: int) -> Tensor:
    """Invert `_together`: [rows, H, copies * T, D] -> [rows * copies, H, T, D]."""
    if copies == 1:
        return read
    rows, heads, both, width = read.shape
    # [rows, H, copies, T, D] -> [rows, copies, H, T, D] -> [rows * copies, H, T, D]
    return read.view(rows, heads, copies, both // copies, width).transpose(1, 2).flatten(0, 1)
