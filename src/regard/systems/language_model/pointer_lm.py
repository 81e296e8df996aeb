"""A recurrent language model that points at the words it has just read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import states_tie
from regard.masks import Mask
from regard.models.char_rnn import Pairing
from regard.models.embeddings import LockedDropout, WordEmbeddings, output_layer
from regard.models.generator import needs_batch
from regard.models.model_output import ModelOutput, log_softmax
from regard.models.seq2seq import run_layers
from regard.nn.cells import CellKind, Cells
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
        embedding_dim: width of the embeddings.
        hidden_dim: width of the layers.
        cells: recurrent cells of the layers, by kind or with all their arguments.
        dropout: dropout of the embeddings and of the outputs of the top layer, which the query reads too.
        tied: use the embedding as the output matrix W; needs `embedding_dim` = `hidden_dim`.
        scale: largest entry of an embedding at initialisation; null in a recipe for 1 with characters, and 0.1
            otherwise.
        window: number L of previous words that it can point to.
        pairing: word that a state points to: the one it has just `"read"` (the paper), or the one that came `"next"`
            (the cache of Grave et al.), which finds states in the same situation as the current one.

    Parameters have the names of those of `LanguageModel`, so that a run of it can be the start of one of these.

    Merity et al. 2017, "Pointer Sentinel Mixture Models"; Grave, Joulin & Usunier 2017, "Improving Neural Language
    Models with a Continuous Cache", section 3.

    >>> model = PointerLM(11, embedding_dim=5, hidden_dim=5, window=4)
    >>> first = model(torch.ones(2, 7).long())
    >>> second = model(torch.ones(2, 3).long(), model.carry(first.state))
    >>> second.logits.shape, second.attended.weights().shape            # of three words, and of four before them
    (torch.Size([2, 3, 11]), torch.Size([2, 3, 7]))
    """

    @checked(states_tie)
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 200,
        hidden_dim: Size = 200,
        cells: Cells | CellKind = "lstm",
        dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
        window: Size = 100,
        pairing: Pairing = "read",
    ) -> None:
        super().__init__()
        self.words = WordEmbeddings(size, embedding_dim, scale=scale)
        self.layers = Recurrent(embedding_dim, hidden_dim, cells)
        locked = self.layers.cells.variational
        self.dropout: nn.Module = LockedDropout(dropout) if locked else Dropout(dropout)
        self.output_map = output_layer(hidden_dim, self.words, tied=tied)
        self.pointer = PointerSentinel(hidden_dim)
        self.window = window
        self.pairing = pairing

    def forward(self, text: Tensor, state: PointerState | None = None) -> ModelOutput:
        """Words [B, T], and where an earlier text ended -> log-probabilities [B, T, V] of what follows each word."""
        if text.dim() != 2 or text.shape[1] == 0:
            raise ValueError(f"PointerLM: text must be [B, T] with at least one word; got {list(text.shape)}")
        before = self.start(None, batch=len(text)) if state is None else state
        outputs, layers = run_layers(self.layers, self.dropout(self.words(text)), before.layers)
        states = torch.cat((before.states.to(outputs.dtype), outputs), dim=1)
        words = torch.cat((before.words, text), dim=1)
        # Masks are aligned to the end: the last state sees the last pair, whichever way they are paired.
        keys, pointed = (states, words) if self.pairing == "read" else (states[:, :-1], words[:, 1:])
        read = self.dropout(outputs)
        vocabulary = log_softmax(self.output_map(read))
        mixed = self.pointer(read, keys, pointed, vocabulary, Mask.window(self.window))
        after = PointerState(layers, states[:, -self.window :], words[:, -self.window :])
        return ModelOutput(mixed.log_probs, after, mixed.attended, {"gate": mixed.gate})

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> PointerState:
        """The state before the first word of `batch` texts: nothing to point at."""
        layers = self.layers.start(needs_batch(self, source, batch))
        nothing = layers.hidden[:, :0]
        return PointerState(layers, nothing, torch.zeros(nothing.shape[:2], dtype=torch.long, device=nothing.device))

    def carry(self, state: PointerState) -> PointerState:
        """State for the next window of a text: without history and without the dropout drawn."""
        return replace(state.detach(), layers=state.layers.carried())

    def step(self, token: Tensor, state: PointerState) -> Step:
        """One word [B] -> log-probabilities [B, V] of the next one, and the state for it."""
        predicted = self(token.unsqueeze(1), state)
        return Step(predicted.logits.squeeze(1), predicted.state)
