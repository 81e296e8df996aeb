"""The Neural Turing Machine: a controller with a tape that it reads and writes."""

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
        tape: the memory [B, N, M].
        read: what the read heads saw last, [B, R * M].
        controller: of recurrent controllers; None of those that only know what was read.
        heads: where they stand; None before the first step.
    """

    tape: NTMMemory
    read: Tensor
    controller: RecurrentState | None = None
    heads: AttentionState | None = None


@dataclass(frozen=True)
class NTMTrace:
    """Everything that a Neural Turing Machine did, step by step.

    Attributes:
        logits: [B, T, O].
        read_weights, write_weights: where the heads stood, [B, H, T, N].
        reads: what was read, [B, T, R * M].
        tape: the memory at the end.
    """

    logits: Tensor
    read_weights: Tensor
    write_weights: Tensor
    reads: Tensor
    tape: NTMMemory


class NTM(nn.Module):
    r"""A controller that looks up and notes down: what it has seen lies on a tape, not in its weights.

    .. math:: h_t = \mathrm{controller}([x_t; r_{t-1}]), \quad r_t = \mathrm{read}(h_t, M_{t-1}), \quad
              M_t = \mathrm{write}(h_t, M_{t-1}), \quad p(y_t) = \sigma(W [h_t; r_t] + b)

    Read and write heads find their places alike, by content and by shifts (see `Addressing`). In one step all heads
    look at the tape as the step before left it; then it is written to. The tape is a ring of N rows: what has more
    entries than that comes to lie on the first.

    Args:
        input_dim: width of an input.
        output_dim: how many bits an output has.
        controller: network that controls the heads: `"feedforward"` (layers of tanh, whose only memory is the tape) or
            `"lstm"`.
        hidden_dim: width of the controller.
        num_layers: number of layers of the controller.
        rows: number N of rows of the tape.
        row_dim: width M of a row.
        read_heads: number R of heads that read.
        write_heads: number of heads that write.
        shifts: number of shifts that a head chooses from, odd: 3 for -1, 0 and +1.
        initial: initial weights of the heads: on the first row, or on all rows alike; see `Addressing`.
        tape: initial content of the tape: `"constant"`, the same small number everywhere, or `"learned"`, for tasks
            that read a row before anything was written there.
        key_bias: compare keys with rows that have a further component of 1, so that rows of zeros can be found by
            content; not in the paper.

    Shapes: inputs [B, T, input_dim] -> logits [B, T, output_dim].

    Graves, Wayne & Danihelka 2014, "Neural Turing Machines". The paper learns what the tape holds at first, which is a
    small constant here unless told otherwise (Collier & Beel 2018), and r_0, which is learned. It leaves open where the
    heads stand, and whether reading or writing comes first: here on the first row, and reading.

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
        """Before the first step: the tape as it is at first, and what the controller takes for read."""
        if self.first_tape is None:
            like = self.first_read
            tape = NTMMemory.constant(batch, self.rows, self.row_dim, device=like.device, dtype=like.dtype)
        else:
            tape = NTMMemory(self.first_tape.expand(batch, -1, -1))
        controller = self.controller.start(batch) if isinstance(self.controller, Recurrent) else None
        return NTMState(tape, self.first_read.expand(batch, -1), controller)

    def forward(self, inputs: Tensor, state: NTMState | None = None) -> ModelOutput:
        """Inputs [B, T, input_dim], and where an earlier sequence ended -> logits [B, T, output_dim]."""
        self._check(inputs)
        state = self.start(len(inputs)) if state is None else state
        joined, hidden, reads = self.heads.joined(), [], []
        for x in inputs.unbind(1):
            one, state = self.step(x, state, joined)
            hidden.append(one)
            reads.append(state.read)
        if not hidden:
            return ModelOutput(inputs.new_zeros(len(inputs), 0, self.output_map.out_features), state)
        return ModelOutput(self.say(torch.stack(hidden, dim=1), torch.stack(reads, dim=1)), state)

    def trace(self, inputs: Tensor) -> NTMTrace:
        """Run over inputs [B, T, input_dim], T > 0, and keep what happened."""
        self._check(inputs)
        hidden, states = [], [self.start(len(inputs))]
        for x in inputs.unbind(1):
            one, state = self.step(x, states[-1])
            hidden.append(one)
            states.append(state)
        places = torch.cat([_place(state.heads) for state in states[1:]], dim=2)
        reads = torch.stack([state.read for state in states[1:]], dim=1)
        return NTMTrace(
            self.say(torch.stack(hidden, dim=1), reads),
            places[:, : self.heads.reads],
            places[:, self.heads.reads :],
            reads,
            states[-1].tape,
        )

    def step(self, x: Tensor, state: NTMState, joined: StackedMaps | None = None) -> tuple[Tensor, NTMState]:
        """One input [B, input_dim] -> h_t [B, hidden_dim] and the state after it, which has r_t."""
        seen = torch.cat((x, state.read), dim=-1)
        if isinstance(self.controller, Recurrent):
            assert state.controller is not None
            hidden, controller = self.controller.step(seen, state.controller)
        else:
            hidden, controller = self.controller(seen), None
        read, tape, heads = self.heads(hidden.unsqueeze(1), state.tape, state.heads, joined)
        return hidden, NTMState(tape, read, controller, heads)

    def _check(self, inputs: Tensor) -> None:
        if inputs.dim() != 3 or inputs.shape[2] != self.input_dim:
            raise ValueError(f"NTM was made for inputs [B, T, {self.input_dim}]; got {list(inputs.shape)}")

    def say(self, hidden: Tensor, reads: Tensor) -> Tensor:
        """h [B, T, hidden_dim] and what was read [B, T, R * M] -> logits [B, T, output_dim]."""
        logits: Tensor = self.output_map(torch.cat((hidden, reads), dim=-1))
        return logits


def _place(heads: AttentionState | None) -> Tensor:
    """Weights of the heads, [B, H, 1, N]."""
    assert heads is not None
    (weights,) = heads.align
    assert isinstance(weights, Tensor)
    return weights


def _feedforward(width: int, hidden_dim: int, num_layers: int) -> nn.Sequential:
    """Layers of tanh."""
    layers: list[nn.Module] = []
    for layer in range(num_layers):
        layers += [nn.Linear(hidden_dim if layer else width, hidden_dim), nn.Tanh()]
    return nn.Sequential(*layers)
