"""Recurrent units that read their own past: the LSTMN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.masks import Mask
from regard.nn.attention import Attention
from regard.nn.memory import Memory
from regard.nn.scores.additive import Additive
from regard.ops.attended import Attended
from regard.ops.intra_attention import lstmn_step


@dataclass(frozen=True, eq=False)
class LSTMNState:
    """The tapes of an LSTMN and what it last read from them. A value: passed in and returned.

    Attributes:
        memory: the growing memory: keys W_h h_i [B, 1, t, A], values [h_i; c_i] [B, 1, t, 2D].
        summary: [B, D], h̃, what the last step read: zero before the first.
    """

    memory: Memory
    summary: Tensor

    @property
    def hidden(self) -> Tensor:
        """The tape of hidden states, [B, t, D]."""
        return self.memory.value.squeeze(1).chunk(2, dim=-1)[0]

    @property
    def cells(self) -> Tensor:
        """The tape of memory cells, [B, t, D]."""
        return self.memory.value.squeeze(1).chunk(2, dim=-1)[1]

    def select(self, rows: Tensor) -> LSTMNState:
        """Keep, repeat or reorder the sequences of the batch; `rows`: [B'] indices."""
        return LSTMNState(self.memory.select(rows), self.summary.index_select(0, rows))


class LSTMNStep(NamedTuple):
    """Hidden states [B, T, D] (T = 1 from a cell), the state after them, and the read of the tapes."""

    output: Tensor
    state: LSTMNState
    attended: Attended


class LSTMNCell(nn.Module):
    r"""One step of an LSTMN: read the tapes of the past, then step from what was read.

    .. math:: [\tilde h_t; \tilde c_t] = \mathrm{attend}([x_t; \tilde h_{t-1}],\, h_{1..t-1},\, [h; c]_{1..t-1}), \quad
              (h_t, c_t) = \mathrm{LSTM}(x_t, \tilde h_t, \tilde c_t)

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of h and c.
        score_dim: A, width of the score's hidden layer; None for D.

    Parameters: `attention.score.query_map` [W_x W_h̃], `attention.score.key_map` W_h, `attention.score.weight` v;
    `gates` W with bias, rows in the order i, f, o, ĉ.

    Cheng, Dong & Lapata 2016, equations 4 to 9; see `regard.ops.intra_attention` and `regard.ops.lstmn_step`.

    >>> cell = LSTMNCell(input_dim=3, hidden_dim=5)
    >>> step = cell(torch.randn(2, 1, 3), cell.start(2))
    >>> step = cell(torch.randn(2, 1, 3), step.state)
    >>> step.output.shape, step.state.memory.size
    (torch.Size([2, 1, 5]), 2)
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, score_dim: int | None = None) -> None:
        super().__init__()
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.attention = Attention(Additive(input_dim + hidden_dim, hidden_dim, score_dim or hidden_dim))
        self.gates = nn.Linear(hidden_dim + input_dim, 4 * hidden_dim)

    def start(self, batch: int) -> LSTMNState:
        """Empty tapes for `batch` sequences."""
        tape = self.gates.weight.new_zeros(batch, 0, self.hidden_dim)
        memory = self.attention.remember(tape, torch.cat((tape, tape), dim=-1))
        return LSTMNState(memory, tape.new_zeros(batch, self.hidden_dim))

    def forward(self, word: Tensor, state: LSTMNState, *, fused: Tensor | None = None) -> LSTMNStep:
        """One step: word [B, 1, C]; `fused` [B, D] is added to the new cell (see `DeepFusion`)."""
        if word.dim() != 3 or word.shape[1:] != (1, self.input_dim):
            raise ValueError(f"LSTMNCell: word must be [B, 1, C] with C = {self.input_dim}; got {list(word.shape)}")
        query = torch.cat((word, state.summary.unsqueeze(1)), dim=-1)
        attended = self.attention.read(query, state.memory)
        hidden, memory = attended.context.squeeze(1).chunk(2, dim=-1)
        new = lstmn_step(word.squeeze(1), hidden, memory, self.gates.weight, self.gates.bias, fused=fused)
        entry = self.attention.remember(new.hidden.unsqueeze(1), torch.cat(new, dim=-1).unsqueeze(1))
        return LSTMNStep(new.hidden.unsqueeze(1), LSTMNState(state.memory.append(entry), hidden), attended)


class LSTMN(nn.Module):
    """A layer of LSTMN over padded sequences: `LSTMNCell` from word to word.

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of h and c.
        score_dim: A, width of the score's hidden layer; None for D.

    Shapes: words [B, T, C] -> output [B, T, D]; weights [B, T, T], strictly lower triangular: word t looks at the
    words before it, and the first at nothing.

    Cheng, Dong & Lapata 2016, section 3. Layers are stacked by feeding one's output to the next.

    >>> from regard import Mask
    >>> layer = LSTMN(input_dim=3, hidden_dim=5)
    >>> step = layer(torch.randn(2, 7, 3), Mask.padding([7, 4]))
    >>> step.output.shape, step.attended.weights().shape, step.state.memory.lengths.tolist()
    (torch.Size([2, 7, 5]), torch.Size([2, 7, 7]), [7, 4])
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, score_dim: int | None = None) -> None:
        super().__init__()
        self.cell = LSTMNCell(input_dim, hidden_dim, score_dim=score_dim)

    def forward(self, words: Tensor, mask: Mask | None = None, state: LSTMNState | None = None) -> LSTMNStep:
        """Run over the sequences.

        Args:
            words: [B, T, C].
            mask: `Mask.padding(lengths)`; what it leaves out has output zero and is not on the tapes that are
                returned. None for full lengths.
            state: where an earlier call ended; None for empty tapes.

        Returns:
            LSTMNStep with output [B, T, D], the state after each sequence's last word, and an Attended with context
            [h̃; c̃] [B, T, 2D] and weights [B, T, S + T] over the S words of `state` and these T.
        """
        batch, length, _ = words.shape
        before = self.cell.start(batch) if state is None else state
        Mask.check(mask)
        if mask is None:
            return self._run(words, before)
        lengths = mask.true_lengths(batch, length).to(words.device)
        outside = (torch.arange(length, device=words.device) >= lengths.unsqueeze(1)).unsqueeze(2)
        step = self._run(words.masked_fill(outside, 0.0), before)
        context = step.attended.context.masked_fill(outside, 0.0)
        weights = step.attended.weights().masked_fill(outside, 0.0)
        ends = _ends(step, before, lengths)
        attended = Attended.from_weights(context, weights.unsqueeze(1), has_heads=False, state=ends)
        return LSTMNStep(step.output.masked_fill(outside, 0.0), ends, attended)

    def _run(self, words: Tensor, before: LSTMNState) -> LSTMNStep:
        """All words, as if none were padding: what comes later does not change what came before."""
        state, steps = before, []
        for word in words.split(1, dim=1) if words.shape[1] else ():
            steps.append(self.cell(word, state))
            state = steps[-1].state
        size, width = state.memory.size, 2 * self.cell.hidden_dim
        empty = before.summary.new_zeros(words.shape[0], 0, width)
        weights = [_widened(step.attended.weights(), size) for step in steps]
        attended = Attended.from_weights(
            torch.cat([empty, *(step.attended.context for step in steps)], dim=1),
            torch.cat([empty.new_zeros(words.shape[0], 0, size), *weights], dim=1).unsqueeze(1),
            has_heads=False,
            state=state,
        )
        output = torch.cat([empty[..., : width // 2], *(step.output for step in steps)], dim=1)
        return LSTMNStep(output, state, attended)


def _widened(weights: Tensor, size: int) -> Tensor:
    """Weights [B, 1, t] with zeros for the words that were still to come, [B, 1, size]."""
    return F.pad(weights, (0, size - weights.shape[-1]))


def _ends(step: LSTMNStep, before: LSTMNState, lengths: Tensor) -> LSTMNState:
    """The state of each sequence after its own last word."""
    tape, old = step.state.memory, before.memory.size
    new = Memory(tape.key[:, :, old:], tape.value[:, :, old:], Mask.padding(lengths))
    hidden = step.attended.context.chunk(2, dim=-1)[0]
    summaries = torch.cat((before.summary.unsqueeze(1), hidden), dim=1)
    last = lengths.to(torch.long)[:, None, None].expand(-1, 1, summaries.shape[2])
    return LSTMNState(before.memory.append(new), summaries.gather(1, last).squeeze(1))
