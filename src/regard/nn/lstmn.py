"""LSTMN: an LSTM with attention over its past states instead of a single previous state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.masks import Mask
from regard.nn.attention import Attention
from regard.nn.checks import positive
from regard.nn.memory import Memory
from regard.nn.rnn import token_mask
from regard.nn.scores.additive import Additive
from regard.ops.additive import additive_attention, additive_score
from regard.ops.attended import Attended
from regard.ops.intra_attention import lstmn_cell
from regard.ops.softmax import softmax_attention


@dataclass(frozen=True, eq=False)
class LSTMNState:
    """Immutable state of an LSTMN: its tapes and the last read of them.

    Attributes:
        memory: growing memory of keys W_h h_i [B, 1, t, A] and values [h_i; c_i] [B, 1, t, 2D].
        summary: [B, D], h̃ of the last step; zero before the first.
    """

    memory: Memory
    summary: Tensor

    @property
    def hidden(self) -> Tensor:
        """Tape of hidden states, [B, t, D]."""
        return self.memory.value.squeeze(1).chunk(2, dim=-1)[0]

    @property
    def cells(self) -> Tensor:
        """Tape of memory cells, [B, t, D]."""
        return self.memory.value.squeeze(1).chunk(2, dim=-1)[1]

    def select(self, rows: Tensor) -> LSTMNState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return LSTMNState(self.memory.select(rows), self.summary.index_select(0, rows))

    def detach(self) -> LSTMNState:
        """Return the tapes detached from the autograd graph. Keys are not projected again after a parameter update."""
        memory = Memory(self.memory.key.detach(), self.memory.value.detach(), self.memory.mask)
        return LSTMNState(memory, self.summary.detach())


class LSTMNStep(NamedTuple):
    """Hidden states [B, T, D] (T = 1 from a cell), the next state, and the attention to the tapes."""

    output: Tensor
    state: LSTMNState
    attended: Attended


class InputProjections(NamedTuple):
    """Projections of an input that do not depend on earlier steps, computed for all words in parallel.

    Attributes:
        query: W_x x_t [B, A], contribution to the query.
        gates: [B, 4D], contribution to the gates, including their bias.
        query_map: W_h̃ [A, D].
        gate_map: [4D, D], of h̃_t.
    """

    query: Tensor
    gates: Tensor
    query_map: Tensor
    gate_map: Tensor


class LSTMNCell(nn.Module):
    r"""One step of an LSTMN: attend to the tapes of past states, then apply an LSTM step to the context.

    .. math:: [\tilde h_t; \tilde c_t] = \mathrm{attend}([x_t; \tilde h_{t-1}],\, h_{1..t-1},\, [h; c]_{1..t-1}), \quad
              (h_t, c_t) = \mathrm{LSTM}(x_t, \tilde h_t, \tilde c_t)

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of h and c.
        score_dim: A, width of the score's hidden layer; None for D.
        window: number of past words kept on the tapes; None for all.
        distances: number of distances with a learned bias, added to the energy a_i of a word at that distance; larger
            distances share the last bias. Initialised with 0, -1, -2, ..., which favours recent words. None for none,
            as in the paper, where the score depends on content alone.

    Parameters: `attention.score.query_map` [W_x W_h̃], `attention.score.key_map` W_h, `attention.score.weight` v;
    `gates` W with bias, rows in the order i, f, o, ĉ; `nearness` [distances], the farthest first.

    Cheng, Dong & Lapata 2016, equations 4 to 9; see `regard.ops.intra_attention` and `regard.ops.lstmn_step`. Without
    distances it is the paper's model, which is worse than an LSTM as a language model; with them it is better
    (docs/notebook/results.md).

    >>> cell = LSTMNCell(input_dim=3, hidden_dim=5)
    >>> step = cell(torch.randn(2, 1, 3), cell.start(2))
    >>> step = cell(torch.randn(2, 1, 3), step.state)
    >>> step.output.shape, step.state.memory.size
    (torch.Size([2, 1, 5]), 2)
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        *,
        score_dim: int | None = None,
        window: int | None = None,
        distances: int | None = None,
    ) -> None:
        super().__init__()
        sizes = {"input_dim": input_dim, "hidden_dim": hidden_dim, "score_dim": score_dim, "window": window}
        positive("LSTMN", **sizes, distances=distances)
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.window = window
        self.attention = Attention(Additive(input_dim + hidden_dim, hidden_dim, score_dim or hidden_dim))
        self.gates = nn.Linear(hidden_dim + input_dim, 4 * hidden_dim)
        self.nearness = None if distances is None else nn.Parameter(torch.arange(1.0 - distances, 1.0))

    def start(self, batch: int) -> LSTMNState:
        """Return empty tapes for `batch` sequences."""
        tape = self.gates.weight.new_zeros(batch, 0, self.hidden_dim)
        memory = self.attention.remember(tape, torch.cat((tape, tape), dim=-1))
        return LSTMNState(memory, tape.new_zeros(batch, self.hidden_dim))

    def forward(self, word: Tensor, state: LSTMNState, *, fused: Tensor | None = None) -> LSTMNStep:
        """One step: word [B, 1, C]; `fused` [B, D] is added to the new cell (see `DeepFusion`)."""
        if word.dim() != 3 or word.shape[1:] != (1, self.input_dim):
            raise ValueError(f"LSTMNCell: word must be [B, 1, C] with C = {self.input_dim}; got {list(word.shape)}")
        (heard,) = self.hear(word)
        return self.step(heard, state, fused=fused)

    def hear(self, words: Tensor) -> list[InputProjections]:
        """Project words [B, T, C] to the inputs of T steps."""
        asks, gates = self._score.query_map, self.gates
        assert asks is not None
        queries = F.linear(words, asks.weight[:, : self.input_dim])
        pushed = F.linear(words, gates.weight[:, self.hidden_dim :], gates.bias)
        maps = asks.weight[:, self.input_dim :], gates.weight[:, : self.hidden_dim]
        return [InputProjections(*parts, *maps) for parts in zip(queries.unbind(1), pushed.unbind(1), strict=True)]

    def step(self, heard: InputProjections, state: LSTMNState, *, fused: Tensor | None = None) -> LSTMNStep:
        """Compute one step from a projected word."""
        query = (heard.query + F.linear(state.summary, heard.query_map))[:, None, None]
        memory = state.memory
        read = self._read(query, memory)
        attended = self.attention.show(read.replace(context=read.context.squeeze(1), has_heads=False, state=None))
        hidden, cell = attended.context.squeeze(1).chunk(2, dim=-1)
        new = lstmn_cell(heard.gates + F.linear(hidden, heard.gate_map), cell, fused=fused)
        output = new.hidden.unsqueeze(1)
        grown = memory.append(self.attention.remember(output, torch.cat(new, dim=-1).unsqueeze(1)))
        return LSTMNStep(output, LSTMNState(_last(grown, self.window), hidden), attended)

    def _read(self, query: Tensor, memory: Memory) -> Attended:
        weight = self._score.weight
        if self.nearness is None:
            return additive_attention(query, memory.key, memory.value, weight, memory.mask)
        energy = additive_score(query, memory.key, weight) + _near(self.nearness, memory)
        return softmax_attention(energy, memory.value, memory.mask)

    @property
    def _score(self) -> Additive:
        assert isinstance(self.attention.score, Additive)
        return self.attention.score


class LSTMN(nn.Module):
    """LSTMN layer over padded sequences: applies `LSTMNCell` word by word.

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of h and c.
        score_dim: A, width of the score's hidden layer; None for D.
        window: number of past words kept on the tapes; None for all.
        distances: number of distances with a learned energy bias; None for none, as in the paper.

    Shapes: words [B, T, C] -> output [B, T, D]; weights [B, T, T], strictly lower triangular: word t attends to the
    words before it, and the first to nothing.

    Cheng, Dong & Lapata 2016, section 3; several layers are `DeepLSTMN`.

    >>> from regard import Mask
    >>> layer = LSTMN(input_dim=3, hidden_dim=5)
    >>> step = layer(torch.randn(2, 7, 3), Mask.padding([7, 4]))
    >>> step.output.shape, step.attended.weights().shape, step.state.memory.lengths.tolist()
    (torch.Size([2, 7, 5]), torch.Size([2, 7, 7]), [7, 4])
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        *,
        score_dim: int | None = None,
        window: int | None = None,
        distances: int | None = None,
    ) -> None:
        super().__init__()
        self.cell = LSTMNCell(input_dim, hidden_dim, score_dim=score_dim, window=window, distances=distances)

    def forward(self, words: Tensor, mask: Mask | None = None, state: LSTMNState | None = None) -> LSTMNStep:
        """Run over sequences.

        Args:
            words: [B, T, C].
            mask: `Mask.padding(lengths)`; padding has output zero and is not on the returned tapes. None for full
                lengths, and for tapes with a window, which do not support padding.
            state: state of an earlier call to continue from; None for empty tapes.

        Returns:
            LSTMNStep with output [B, T, D], the state after each sequence's last word, and an Attended with context
            [h̃; c̃] [B, T, 2D] and weights [B, T, S + T] over the S words of `state` and these T.
        """
        batch, length, _ = words.shape
        before = self.cell.start(batch) if state is None else state
        Mask.check(mask)
        if mask is None:
            return self._run(words, before)
        if self.cell.window is not None:
            raise ValueError(f"LSTMN: tapes of {self.cell.window} words have no padding; leave mask or window out")
        lengths = mask.true_lengths(batch, length).to(words.device)
        outside = ~token_mask(lengths, length)
        step = self._run(words.masked_fill(outside.unsqueeze(2), 0.0), before, outside)
        return step._replace(state=_ends(step, before, mask, lengths))

    def _run(self, words: Tensor, before: LSTMNState, outside: Tensor | None = None) -> LSTMNStep:
        """Run over all words including padding, which cannot affect earlier words, then remove the padding."""
        state, steps = before, []
        for heard in self.cell.hear(words):
            steps.append(self.cell.step(heard, state))
            state = steps[-1].state
        batch, length, width = words.shape[0], words.shape[1], self.cell.hidden_dim
        output = torch.cat([words.new_zeros(batch, 0, width), *(step.output for step in steps)], dim=1)
        context = torch.cat([words.new_zeros(batch, 0, 2 * width), *(step.attended.context for step in steps)], dim=1)
        if outside is not None:
            output, context = (part.masked_fill(outside.unsqueeze(2), 0.0) for part in (output, context))
        old = before.memory.size
        weigh = _GrowingWeights(
            [step.attended for step in steps], old, words.new_zeros(batch, 0, old + length), outside
        )
        impl = steps[-1].attended.impl if steps else "reference"
        shape = (batch, 1, length, old + length)
        attended = Attended(context, weigh, shape, has_heads=False, state=state, impl=impl)
        return LSTMNStep(output, state, attended)


class _GrowingWeights:
    """Lazy weights of reads of a growing tape, aligned to word positions.

    Args:
        reads: one read per word.
        old: number of words on the tape before the first read.
        none: [B, 0, S], empty weights with one column per word, earlier and new.
        outside: [B, T], True at padding, whose weights are zero; None without padding.
    """

    def __init__(self, reads: Sequence[Attended], old: int, none: Tensor, outside: Tensor | None) -> None:
        self._reads = reads
        self._old = old
        self._none = none
        self._outside = outside

    def __call__(self, head: Tensor, row: Tensor) -> Tensor:
        if torch.compiler.is_compiling():  # `tolist` would break the graph: compute all rows, then select
            weights = torch.cat([self._none, *map(self._row, range(len(self._reads)))], dim=1).index_select(1, row)
        else:
            weights = torch.cat([self._none, *map(self._row, row.tolist())], dim=1)
        if self._outside is not None:
            weights = weights.masked_fill(self._outside[:, row].unsqueeze(2), 0.0)
        return weights.unsqueeze(1).index_select(1, head)

    def _row(self, position: int) -> Tensor:
        weights, end = self._reads[position].weights(), self._old + position
        return F.pad(weights, (end - weights.shape[-1], self._none.shape[-1] - end))


def _near(nearness: Tensor, memory: Memory) -> Tensor:
    """Return the energy bias by distance on the tape, [S] or [B, 1, 1, S]."""
    known, size = nearness.shape[0], memory.size
    if memory.mask is None:
        far = size - known
        return nearness[-far:] if far < 0 else torch.cat((nearness[:1].expand(far), nearness))
    # Padding after a shorter text of the batch does not count as distance.
    there = memory.mask.allowed((memory.key.shape[0], 1, 1, size), device=nearness.device).expand(-1, -1, -1, size)
    behind = there.flip(3).cumsum(3).flip(3) - there.long()
    return nearness[(known - 1 - behind).clamp(min=0)]


def _last(memory: Memory, window: int | None) -> Memory:
    """Return the last `window` entries of a tape."""
    if window is None or memory.size <= window:
        return memory
    return Memory(memory.key[:, :, -window:], memory.value[:, :, -window:])


def _ends(step: LSTMNStep, before: LSTMNState, mask: Mask, lengths: Tensor) -> LSTMNState:
    """Return the state of each sequence after its own last word."""
    tape, old = step.state.memory, before.memory.size
    new = Memory(tape.key[:, :, old:], tape.value[:, :, old:], mask)
    hidden = step.attended.context.chunk(2, dim=-1)[0]
    summaries = torch.cat((before.summary.unsqueeze(1), hidden), dim=1)
    last = lengths.to(torch.long)[:, None, None].expand(-1, 1, summaries.shape[2])
    return LSTMNState(before.memory.append(new), summaries.gather(1, last).squeeze(1))  # summary [B, D]
