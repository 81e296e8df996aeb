"""Character-level recurrent language model with attention to its past states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from regard.arguments import Scale, Share, Size, checked
from regard.constraints import past_attended
from regard.masks import Mask
from regard.models.attention_config import ScoreConfig
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.generator import DecoderOutput, Generator, needs_batch
from regard.models.model_output import ModelOutput
from regard.models.seq2seq import run_layers
from regard.nn.attention import Attention
from regard.nn.cells import CellKind, Cells
from regard.nn.cpu_decode.packing import linear_then
from regard.nn.dropout import Dropout
from regard.nn.memory import Memory
from regard.nn.rnn import Recurrent, RecurrentState
from regard.nn.scores.base import Score
from regard.protocol import Step

Pairing = Literal["read", "next"]
"""The word that a state is paired with: the one that it has just read, or the one that came next."""
SelfScore = Callable[[int, int], Score]
"""(width of queries, width of keys) -> a score."""


@dataclass(frozen=True)
class CharState:
    """State of a `CharRNN`.

    Attributes:
        layers: state of the recurrent layers.
        memory: past states, up to the size of the window; None without attention.
    """

    layers: RecurrentState
    memory: Memory | None = None

    def select(self, rows: Tensor) -> CharState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return CharState(self.layers.select(rows), None if self.memory is None else self.memory.select(rows))

    def detach(self) -> CharState:
        """Return the state detached from the autograd graph. Keys are not projected again after a parameter update."""
        memory = self.memory and Memory(self.memory.key.detach(), self.memory.value.detach())
        return CharState(self.layers.detach(), memory)


class CharRNN(Generator[CharState]):
    r"""A language model over characters; with attention, each state attends to those before it.

    .. math:: h_t = R(h_{t-1}, E x_t), \quad c_t = \mathrm{attend}(h_t, h_{<t}), \quad
              \tilde h_t = \tanh(W_c [c_t; h_t]), \quad p(x_{t+1}) = \mathrm{softmax}(W \tilde h_t + b)

    The memory grows by one state per step. The first state has an empty memory and gets a zero context. Contexts enter
    no later state, so all positions of a text are computed in parallel.

    Args:
        size: V, number of characters.
        embedding_dim: width of the embeddings.
        hidden_dim: D, width of the layers.
        attention: score of the attention to past states: a name or a mapping with its arguments, in Python also a
            function (D, D) -> score; None for no attention.
        window: number of past states attended to; None for all.
        pairing: value for the key h_i: `"read"` for h_i itself, `"next"` for the state h_{i+1} after the following
            character, so that a state finds similar contexts and retrieves how they continued.
        cells: recurrent cells of the layers: a kind, or a mapping with all arguments.
        dropout: dropout of the embeddings and of the input of the output layer.
        scale: bound of the uniform initialisation of embeddings. Characters are few and frequent, so it need not be
            small.

    Karpathy 2015, "char-rnn"; attention to one's own past states after Cheng, Dong & Lapata 2016 and Daniluk et al.
    2017, section 2.1.

    >>> model = CharRNN(11, embedding_dim=3, hidden_dim=5, attention=ScoreConfig(score="additive"))
    >>> predicted = model(torch.ones(2, 7).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 7, 11]), torch.Size([2, 7, 6]))
    """

    at_once = True
    encoder_kind: ClassVar[str] = "rnn"

    @checked(past_attended)
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 64,
        hidden_dim: Size = 256,
        attention: ScoreConfig | SelfScore | None = None,
        window: Size | None = None,
        pairing: Pairing = "read",
        cells: Cells | CellKind = "lstm",
        dropout: Share = 0.0,
        scale: Scale = 1.0,
    ) -> None:
        super().__init__()
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        self.layers = Recurrent(embedding_dim, hidden_dim, cells)
        make_score = attention.make_score if isinstance(attention, ScoreConfig) else attention
        self.attention = None if make_score is None else Attention(make_score(hidden_dim, hidden_dim))
        self.attentional_map = None if attention is None else nn.Linear(2 * hidden_dim, hidden_dim)
        self.window = window
        self.pairing = pairing
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(hidden_dim, self.words, tied=False)

    def forward(self, text: Tensor, state: CharState | None = None) -> ModelOutput:
        """Return logits [B, T, V] of the next character at each position; `state` is from a previous text."""
        return self.unroll(text, self.start(None, batch=len(text)) if state is None else state)

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> CharState:
        layers = self.layers.start(needs_batch(self, source, batch))
        memory = None if self.attention is None else self.attention.remember(layers.hidden[:, :0])
        return CharState(layers, memory)

    def carry(self, state: CharState) -> CharState:
        """Return the state for the next window of a text: detached, and with the memory only if it is bounded."""
        layers = state.layers.carried()
        if state.memory is None or self.window is not None:
            return CharState(layers, state.detach().memory)
        return CharState(layers, self.start(None, batch=len(layers.hidden)).memory)

    def advance(self, words: Tensor, state: CharState) -> DecoderOutput[CharState]:
        outputs, layers = run_layers(self.layers, words, state.layers)
        if self.attention is None or self.attentional_map is None or state.memory is None:
            return DecoderOutput((outputs,), CharState(layers))
        grown = state.memory.append(self.attention.remember(outputs))
        # The newest state is not yet a key, so the mask aligns the last query with the key before it: the past only.
        reach = Mask.causal() if self.window is None else Mask.window(self.window)
        values = grown.value[:, :, :-1] if self.pairing == "read" else grown.value[:, :, 1:]
        past = Memory(grown.key[:, :, :-1], values, reach)
        attended = self.attention.read(outputs, past)
        together = torch.cat((attended.context, outputs), dim=-1)
        attentional = linear_then(self.attentional_map, together, torch.tanh)
        return DecoderOutput((attentional,), CharState(layers, _last(grown, self.window)), attended)

    def step(self, token: Tensor, state: CharState) -> Step:
        """Decode one character; the step has no alignment, since the attention is to past states, not to a source."""
        return super().step(token, state)._replace(attended=None)

    def output(self, *features: Tensor) -> Tensor:
        (read,) = features
        logits: Tensor = self.output_map(self.dropout(read))
        return logits


def _last(memory: Memory, window: int | None) -> Memory:
    """Return the last entries of a memory, those within the window of the next query."""
    return memory if window is None else Memory(memory.key[:, :, -window:], memory.value[:, :, -window:])
