"""A recurrent language model that points at the words it has just read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.models import registry
from regard.models.embeddings import LockedDropout, Words, output_layer
from regard.models.generator import needs_batch
from regard.models.outputs import Predicted, log_softmax
from regard.models.pairing import check_pairing
from regard.models.seq2seq import run
from regard.nn.cells import Cells
from regard.nn.checks import positive
from regard.nn.dropout import Dropout
from regard.nn.pointers import PointerSentinel
from regard.nn.rnn import Recurrent, RecurrentState
from regard.protocol import Step


@dataclass(frozen=True)
class PointerState:
    """State of a `PointerLM`: all that its next step needs.

    Attributes:
        layers: its recurrent layers.
        states: [B, S, D], the last states of the uppermost layer, as many as the window holds.
        words: [B, S], the word that each of them had just read.
    """

    layers: RecurrentState
    states: Tensor
    words: Tensor

    def select(self, rows: Tensor) -> PointerState:
        """Keep, repeat or reorder the sequences of the batch; `rows`: [B'] indices."""
        return PointerState(
            self.layers.select(rows), self.states.index_select(0, rows), self.words.index_select(0, rows)
        )

    def detach(self) -> PointerState:
        """The same state without its history."""
        return PointerState(self.layers.detach(), self.states.detach(), self.words)


@registry.model("pointer_lm")
class PointerLM(nn.Module):
    r"""The pointer sentinel language model: the next word is one of the vocabulary, or one of the last L words again.

    .. math:: h_t = \mathrm{RNN}(E w_t, h_{t-1}), \quad q_t = \tanh(W_q h_t + b_q), \quad
              [a_t; g_t] = \mathrm{softmax}\bigl([q_t^\top h_{t-L+1}, \dots, q_t^\top h_t;\; q_t^\top s]\bigr) \\
              p(w_{t+1} = w) = g_t\, \mathrm{softmax}(W h_t + b)_w + \sum_{i\,:\,w_i = w} a_{ti}

    All T states of a window of text point at once, at the L states before each, those of the window of text before
    included: they come along in the state. Gradients go through the states of the same window of text.

    `logits` are the log-probabilities of the mixture, which a softmax leaves alone. `extras["gate"]` is g, [B, T].

    Args:
        size: V, how many words.
        embedding_dim, hidden_dim, cells, dropout, tied, scale: those of `LanguageModel`, whose parameters have the
            same names, so that a run of it can be begun with. The query reads what the output layer reads, dropout
            included.
        window: L, how many words back it points.
        pairing: the word that a state stands for: the one it has just `"read"` (the paper), or the one that came
            `"next"`, as in the cache of Grave et al.: then a state is found that stood where this one stands.

    Merity et al. 2017, "Pointer Sentinel Mixture Models"; Grave, Joulin & Usunier 2017, "Improving Neural Language
    Models with a Continuous Cache", section 3.

    >>> model = PointerLM(11, embedding_dim=5, hidden_dim=5, window=4)
    >>> first = model(torch.ones(2, 7).long())
    >>> second = model(torch.ones(2, 3).long(), model.carry(first.state))
    >>> second.logits.shape, second.attended.weights().shape            # of three words, and of four before them
    (torch.Size([2, 3, 11]), torch.Size([2, 3, 7]))
    """

    def __init__(
        self,
        size: int,
        *,
        embedding_dim: int = 200,
        hidden_dim: int = 200,
        cells: Cells | str = "lstm",
        dropout: float = 0.0,
        tied: bool = False,
        scale: float = 0.1,
        window: int = 100,
        pairing: str = "read",
    ) -> None:
        super().__init__()
        positive("PointerLM", window=window)
        check_pairing(pairing)
        self.words = Words(size, embedding_dim, scale=scale)
        self.layers = Recurrent(embedding_dim, hidden_dim, cells)
        locked = self.layers.cells.variational
        self.dropout: nn.Module = LockedDropout(dropout) if locked else Dropout(dropout)
        self.output_map = output_layer(hidden_dim, self.words, tied=tied)
        self.pointer = PointerSentinel(hidden_dim)
        self.window = window
        self.pairing = pairing

    def forward(self, text: Tensor, state: PointerState | None = None) -> Predicted:
        """Words [B, T], and where an earlier text ended -> log-probabilities [B, T, V] of what follows each word."""
        if text.dim() != 2 or text.shape[1] == 0:
            raise ValueError(f"PointerLM: text must be [B, T] with at least one word; got {list(text.shape)}")
        before = self.start(None, batch=len(text)) if state is None else state
        outputs, layers = run(self.layers, self.dropout(self.words(text)), before.layers)
        states = torch.cat((before.states.to(outputs.dtype), outputs), dim=1)
        words = torch.cat((before.words, text), dim=1)
        # Masks are aligned to the end: the last state sees the last pair, whichever way they are paired.
        keys, pointed = (states, words) if self.pairing == "read" else (states[:, :-1], words[:, 1:])
        read = self.dropout(outputs)
        vocabulary = log_softmax(self.output_map(read))
        mixed = self.pointer(read, keys, pointed, vocabulary, Mask.window(self.window))
        after = PointerState(layers, states[:, -self.window :], words[:, -self.window :])
        return Predicted(mixed.log_probs, after, mixed.attended, {"gate": mixed.gate})

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> PointerState:
        """The state before the first word of `batch` texts: nothing to point at."""
        layers = self.layers.start(needs_batch(self, source, batch))
        nothing = layers.hidden[:, :0]
        return PointerState(layers, nothing, torch.zeros(nothing.shape[:2], dtype=torch.long, device=nothing.device))

    def carry(self, state: PointerState) -> PointerState:
        """State for the next window of a text: without history and without the dropout drawn."""
        there = state.detach()
        return replace(there, layers=replace(there.layers, noise=()))

    def step(self, token: Tensor, state: PointerState) -> Step:
        """One word [B] -> log-probabilities [B, V] of the next one, and the state for it."""
        predicted = self(token.unsqueeze(1), state)
        return Step(predicted.logits.squeeze(1), predicted.state)
