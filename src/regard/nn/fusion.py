"""LSTMN decoders with attention to the source: deep and shallow attention fusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.attention import Attention
from regard.nn.lstmn import LSTMNCell, LSTMNState, LSTMNStep
from regard.nn.scores.additive import Additive
from regard.nn.shared_memory import SharedMemory
from regard.ops.attended import Attended
from regard.ops.intra_attention import deep_fusion


@dataclass(frozen=True, eq=False)
class FusionState:
    """State of a decoder with an LSTMN.

    Attributes:
        intra: tapes of the decoder.
        source: tapes of the encoder with projected keys, shared by the hypotheses of a beam.
        summary: [B, D], last context of inter-attention; zero before the first step.
    """

    intra: LSTMNState
    source: SharedMemory
    summary: Tensor

    def select(self, rows: Tensor) -> FusionState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return FusionState(self.intra.select(rows), self.source.select(rows), self.summary.index_select(0, rows))


class FusionStep(NamedTuple):
    """Decoder step: output [B, 1, output_dim], next state, attention to the decoder's tapes and to the source."""

    output: Tensor
    state: FusionState
    intra: Attended
    inter: Attended


class DeepFusion(nn.Module):
    r"""LSTMN decoder cell with deep fusion: a gated read of the encoder's memory tape is added to the cell.

    .. math:: b_j = u^\top \tanh(W_\gamma \gamma_j + W_x x_t + W_{\tilde\gamma} \tilde\gamma_{t-1}), \quad
              [\tilde\gamma_t; \tilde\alpha_t] = \sum_j \mathrm{softmax}(b)_j\, [\gamma_j; \alpha_j], \quad
              r_t = \sigma(W_r [\tilde\gamma_t; x_t]), \quad
              c_t = r_t \odot \tilde\alpha_t + f \odot \tilde c_t + i \odot \hat c_t

    γ and α are the encoder's tapes of hidden states and memory cells, which must be as wide as the decoder's.

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of the encoder's and the decoder's tapes.
        score_dim: A, width of both scores' hidden layers; None for D.

    Parameters: those of `cell` (`LSTMNCell`); `inter.score` with W_x, W_γ̃, W_γ and u; `gate` W_r with bias.

    Cheng, Dong & Lapata 2016, section 4, equations 10 to 15.

    >>> from regard.nn import LSTMN
    >>> encoder, decoder = LSTMN(3, 5), DeepFusion(input_dim=7, hidden_dim=5)
    >>> state = decoder.start(encoder(torch.randn(2, 11, 3)).state)
    >>> step = decoder(torch.randn(2, 1, 7), state)
    >>> step.output.shape, step.inter.weights().shape
    (torch.Size([2, 1, 5]), torch.Size([2, 1, 11]))
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, score_dim: int | None = None) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.cell = LSTMNCell(input_dim, hidden_dim, score_dim=score_dim)
        self.inter = Attention(Additive(input_dim + hidden_dim, hidden_dim, score_dim or hidden_dim))
        self.gate = nn.Linear(hidden_dim + input_dim, hidden_dim)

    def start(self, source: LSTMNState) -> FusionState:
        """Return the state before the first word, from the encoder's tapes."""
        if source.hidden.shape[2] != self.output_dim:
            raise ValueError(
                f"DeepFusion adds the encoder's cells to its own: both must be {self.output_dim} wide; "
                f"got tapes of width {source.hidden.shape[2]}"
            )
        return self.start_on(source.hidden, source.cells, source.memory.mask)

    def start_on(self, hidden: Tensor, cells: Tensor, mask: Mask | None = None) -> FusionState:
        """Return the state before the first word, from tapes of hidden states and memory cells, [B, S, D] each."""
        memory = self.inter.remember(hidden, torch.cat((hidden, cells), dim=-1), mask)  # values [B, S, 2D]
        nothing = hidden.new_zeros(len(hidden), self.output_dim)
        return FusionState(self.cell.start(len(hidden)), SharedMemory(memory), nothing)

    def forward(self, word: Tensor, state: FusionState) -> FusionStep:
        """One step: word [B, 1, C]."""
        inter = state.source.read(self.inter, torch.cat((word, state.summary.unsqueeze(1)), dim=-1), None)
        hidden, memory = inter.context.squeeze(1).chunk(2, dim=-1)
        fused = deep_fusion(word.squeeze(1), hidden, memory, self.gate.weight, self.gate.bias)
        step: LSTMNStep = self.cell(word, state.intra, fused=fused)
        return FusionStep(step.output, FusionState(step.state, state.source, hidden), step.attended, inter)


class ShallowFusion(nn.Module):
    """LSTMN decoder cell with ordinary attention to the source: its output is [h_t; context_t].

        h_t = LSTMN(x_t)      context_t = attend(h_t, source)

    The cell is independent of the source, so any encoder fits. To make the context an input of the cell, concatenate
    `state.summary` to the next word.

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of the decoder's tapes.
        source_dim: width of the encoder's states.
        score_dim: A, width of both scores' hidden layers; None for D.

    Parameters: those of `cell` (`LSTMNCell`) and of `inter` (`Additive`).

    Cheng, Dong & Lapata 2016, section 4, "shallow attention fusion".

    >>> decoder = ShallowFusion(input_dim=7, hidden_dim=5, source_dim=3)
    >>> step = decoder(torch.randn(2, 1, 7), decoder.start(torch.randn(2, 11, 3)))
    >>> step.output.shape
    torch.Size([2, 1, 8])
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, source_dim: int, score_dim: int | None = None) -> None:
        super().__init__()
        self.output_dim = hidden_dim + source_dim
        self.cell = LSTMNCell(input_dim, hidden_dim, score_dim=score_dim)
        self.inter = Attention(Additive(hidden_dim, source_dim, score_dim or hidden_dim))

    def start(self, source: Tensor, mask: Mask | None = None) -> FusionState:
        """Return the state before the first word, from the encoder's states [B, S, source_dim]."""
        memory = self.inter.remember(source, mask=mask)
        nothing = source.new_zeros(source.shape[0], source.shape[2])
        return FusionState(self.cell.start(len(source)), SharedMemory(memory), nothing)

    def forward(self, word: Tensor, state: FusionState) -> FusionStep:
        """One step: word [B, 1, C]."""
        step: LSTMNStep = self.cell(word, state.intra)
        inter = state.source.read(self.inter, step.output, None)
        after = FusionState(step.state, state.source, inter.context.squeeze(1))
        return FusionStep(torch.cat((step.output, inter.context), dim=-1), after, step.attended, inter)
