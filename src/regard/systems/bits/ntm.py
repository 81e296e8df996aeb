"""Neural Turing Machine: a controller network with an external memory that it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.constraints import shifts_balance, shifts_fit
from regard.models.model_output import ModelOutput
from regard.nn.aligners.addressing import Initial
from regard.nn.cells import Cells
from regard.nn.ntm_memory import NTMHeads, NTMMemory, StackedMaps
from regard.nn.rnn import Recurrent, RecurrentState
from regard.nn.state import AttentionState


@dataclass(frozen=True)
class NTMState:
    """State of a Neural Turing Machine.

    Attributes:
        tape: memory [B, N, M].
        read: last read vectors [B, R * M].
        controller: state of a recurrent controller; None for a feed-forward one.
        heads: addressing weights of the heads; None before the first step.
    """

    tape: NTMMemory
    read: Tensor
    controller: RecurrentState | None = None
    heads: AttentionState | None = None


@dataclass(frozen=True)
class NTMTrace:
    """Trace of a Neural Turing Machine over all steps.

    Attributes:
        logits: [B, T, O].
        read_weights, write_weights: addressing weights of the heads, [B, H, T, N].
        reads: read vectors [B, T, R * M].
        tape: memory after the last step.
    """

    logits: Tensor
    read_weights: Tensor
    write_weights: Tensor
    reads: Tensor
    tape: NTMMemory


class NTM(nn.Module):
    r"""Neural Turing Machine: a controller network with read and write heads on an external memory (the tape).

    .. math:: h_t = \mathrm{controller}([x_t; r_{t-1}]), \quad r_t = \mathrm{read}(h_t, M_{t-1}), \quad
              M_t = \mathrm{write}(h_t, M_{t-1}), \quad p(y_t) = \sigma(W [h_t; r_t] + b)

    Read and write heads use the same addressing, by content and by shifts (see `Addressing`). In each step, all heads
    address the tape of the previous step; then it is written to. The tape is a ring of N rows: shifts past the last row
    wrap around, so more than N entries overwrite the first ones.

    Args:
        input_dim: width of an input vector.
        output_dim: number of bits of an output.
        controller: network that controls the heads: `"feedforward"` (tanh layers without a state of their own) or
            `"lstm"`.
        hidden_dim: width of the controller.
        num_layers: number of layers of the controller.
        rows: number N of rows of the tape.
        row_dim: width M of a row.
        read_heads: number R of read heads.
        write_heads: number of write heads.
        shifts: number of shifts that a head chooses from, odd: 3 for -1, 0 and +1.
        initial: initial weights of the heads: on the first row, or uniform over all rows; see `Addressing`.
        tape: initial content of the tape: `"constant"`, the same small number everywhere, or `"learned"`, for tasks
            that read a row before it is written.
        key_bias: append a component of 1 to each row before it is compared with a key, so that rows of zeros can be
            addressed by content; not in the paper.

    Shapes: inputs [B, T, input_dim] -> logits [B, T, output_dim].

    Graves, Wayne & Danihelka 2014, "Neural Turing Machines". The paper learns the initial tape and r_0. Here r_0 is
    learned, and the initial tape is a small constant by default (Collier & Beel 2018). The paper specifies neither the
    initial head weights nor the order of reading and writing. Here heads start on the first row, and read before they
    write.

    >>> model = NTM(5, 4, hidden_dim=7, rows=11, row_dim=3, read_heads=2)
    >>> predicted = model(torch.rand(2, 6, 5))
    >>> predicted.logits.shape, predicted.state.tape.matrix.shape
    (torch.Size([2, 6, 4]), torch.Size([2, 11, 3]))
    """

    @checked(shifts_balance, shifts_fit)
    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        controller: Literal["feedforward", "lstm"] = "feedforward",
        hidden_dim: Size = 100,
        num_layers: Size = 1,
        rows: Size = 128,
        row_dim: Size = 20,
        read_heads: Size = 1,
        write_heads: Size = 1,
        shifts: int = 3,
        initial: Initial = "peaked",
        tape: Literal["constant", "learned"] = "constant",
        key_bias: bool = False,
    ) -> None:
        super().__init__()
        self.input_dim, self.rows, self.row_dim = input_dim, rows, row_dim
        self.first_tape = nn.Parameter(torch.randn(rows, row_dim).div_(row_dim**0.5)) if tape == "learned" else None
        width = input_dim + read_heads * row_dim
        self.first_read = nn.Parameter(torch.zeros(read_heads * row_dim))
        self.controller: nn.Module = (
            Recurrent(width, hidden_dim, Cells(kind="lstm", num_layers=num_layers))
            if controller == "lstm"
            else _feedforward(width, hidden_dim, num_layers)
        )
        self.heads = NTMHeads(
            hidden_dim,
            row_dim,
            reads=read_heads,
            writes=write_heads,
            shifts=shifts,
            initial=initial,
            key_bias=key_bias,
        )
        self.output_map = nn.Linear(hidden_dim + read_heads * row_dim, output_dim)

    def start(self, batch: int) -> NTMState:
        """Return the initial state for a batch: initial tape, initial read vectors r_0 and controller state."""
        if self.first_tape is None:
            like = self.first_read
            tape = NTMMemory.constant(batch, self.rows, self.row_dim, device=like.device, dtype=like.dtype)
        else:
            tape = NTMMemory(self.first_tape.expand(batch, -1, -1))
        controller = self.controller.start(batch) if isinstance(self.controller, Recurrent) else None
        return NTMState(tape, self.first_read.expand(batch, -1), controller)

    def forward(self, inputs: Tensor, state: NTMState | None = None) -> ModelOutput:
        """Map inputs [B, T, input_dim], from an initial state, to logits [B, T, output_dim]."""
        self._check(inputs)
        state = self.start(len(inputs)) if state is None else state
        # The stacked maps of all heads are built once per sequence, not once per step.
        joined, hidden, reads = self.heads.joined(), [], []
        for x in inputs.unbind(1):
            one, state = self.step(x, state, joined)
            hidden.append(one)
            reads.append(state.read)
        if not hidden:
            return ModelOutput(inputs.new_zeros(len(inputs), 0, self.output_map.out_features), state)
        return ModelOutput(self.say(torch.stack(hidden, dim=1), torch.stack(reads, dim=1)), state)

    def trace(self, inputs: Tensor) -> NTMTrace:
        """Run over inputs [B, T, input_dim], T > 0, and return logits, head weights, reads and the final tape."""
        self._check(inputs)
        hidden, states = [], [self.start(len(inputs))]
        for x in inputs.unbind(1):
            one, state = self.step(x, states[-1])
            hidden.append(one)
            states.append(state)
        places = torch.cat([_place(state.heads) for state in states[1:]], dim=2)  # [B, H, T, N], read heads first
        reads = torch.stack([state.read for state in states[1:]], dim=1)  # [B, T, R * M]
        return NTMTrace(
            self.say(torch.stack(hidden, dim=1), reads),
            places[:, : self.heads.reads],
            places[:, self.heads.reads :],
            reads,
            states[-1].tape,
        )

    def step(self, x: Tensor, state: NTMState, joined: StackedMaps | None = None) -> tuple[Tensor, NTMState]:
        """Run one step: input [B, input_dim] -> h_t [B, hidden_dim] and the next state, which contains r_t."""
        seen = torch.cat((x, state.read), dim=-1)
        if isinstance(self.controller, Recurrent):
            assert state.controller is not None
            hidden, controller = self.controller.step(seen, state.controller)
        else:
            hidden, controller = self.controller(seen), None
        # Reads see the tape of the previous step; the write takes effect in the next one.
        read, tape, heads = self.heads(hidden.unsqueeze(1), state.tape, state.heads, joined)
        return hidden, NTMState(tape, read, controller, heads)

    def _check(self, inputs: Tensor) -> None:
        if inputs.dim() != 3 or inputs.shape[2] != self.input_dim:
            raise ValueError(f"NTM was made for inputs [B, T, {self.input_dim}]; got {list(inputs.shape)}")

    def say(self, hidden: Tensor, reads: Tensor) -> Tensor:
        """Compute logits [B, T, output_dim] from h [B, T, hidden_dim] and the read vectors [B, T, R * M]."""
        logits: Tensor = self.output_map(torch.cat((hidden, reads), dim=-1))
        return logits


def _place(heads: AttentionState | None) -> Tensor:
    """Return the addressing weights of the heads, [B, H, 1, N]."""
    assert heads is not None
    (weights,) = heads.align
    assert isinstance(weights, Tensor)
    return weights


def _feedforward(width: int, hidden_dim: int, num_layers: int) -> nn.Sequential:
    """Build a feed-forward controller of tanh layers."""
    layers: list[nn.Module] = []
    for layer in range(num_layers):
        layers += [nn.Linear(hidden_dim if layer else width, hidden_dim), nn.Tanh()]
    return nn.Sequential(*layers)
