"""Pointer sentinel language model: a recurrent language model with a pointer to recent words."""

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
    """Recurrent state of a `PointerLM`.

    Attributes:
        layers: state of the recurrent layers.
        states: [B, S, D], the last states of the top layer, at most the window size.
        words: [B, S], input word of each of these states.
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
        """Return the state detached from the autograd graph."""
        return PointerState(self.layers.detach(), self.states.detach(), self.words)


class PointerLM(nn.Module):
    r"""Pointer sentinel language model: a mixture of a softmax over the vocabulary and a pointer to the last L words.

    .. math:: h_t = \mathrm{RNN}(E w_t, h_{t-1}), \quad q_t = \tanh(W_q h_t + b_q), \quad
              [a_t; g_t] = \mathrm{softmax}\bigl([q_t^\top h_{t-L+1}, \dots, q_t^\top h_t;\; q_t^\top s]\bigr) \\
              p(w_{t+1} = w) = g_t\, \mathrm{softmax}(W h_t + b)_w + \sum_{i\,:\,w_i = w} a_{ti}

    All T positions of a text window are computed in parallel. Each points to the last L states, including those of the
    previous text window, which are part of the state. Gradients flow through the states of the same text window only.

    `logits` are the log-probabilities of the mixture, which a softmax does not change. `extras["gate"]` is g, [B, T].

    Args:
        size: vocabulary size V.
        embedding_dim: width of the embeddings.
        hidden_dim: width of the layers.
        cells: recurrent cells of the layers, by kind or with all their arguments.
        dropout: dropout of the embeddings and of the outputs of the top layer, which are also the input of the query.
        tied: use the embedding as the output matrix W; needs `embedding_dim` = `hidden_dim`.
        scale: largest entry of an embedding at initialisation; null in a recipe for 1 with characters, and 0.1
            otherwise.
        window: number L of previous words that the pointer covers.
        pairing: word paired with each state: its input word, `"read"` (the paper), or the word after it, `"next"` (the
            cache of Grave et al.), which predicts by similarity of states.

    Parameter names match those of `LanguageModel`, so that training can start from one of its runs.

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
        """Words [B, T], optionally the state of the last window -> log-probabilities [B, T, V] of the next words."""
        if text.dim() != 2 or text.shape[1] == 0:
            raise ValueError(f"PointerLM: text must be [B, T] with at least one word; got {list(text.shape)}")
        before = self.start(None, batch=len(text)) if state is None else state
        outputs, layers = run_layers(self.layers, self.dropout(self.words(text)), before.layers)
        states = torch.cat((before.states.to(outputs.dtype), outputs), dim=1)  # [B, S + T, D]
        words = torch.cat((before.words, text), dim=1)  # [B, S + T]
        # Masks are aligned at the end, so the last query sees the last pair under either pairing.
        keys, pointed = (states, words) if self.pairing == "read" else (states[:, :-1], words[:, 1:])
        read = self.dropout(outputs)
        vocabulary = log_softmax(self.output_map(read))
        mixed = self.pointer(read, keys, pointed, vocabulary, Mask.window(self.window))
        after = PointerState(layers, states[:, -self.window :], words[:, -self.window :])
        return ModelOutput(mixed.log_probs, after, mixed.attended, {"gate": mixed.gate})

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> PointerState:
        """Return the initial state of `batch` texts, with an empty pointer window."""
        layers = self.layers.start(needs_batch(self, source, batch))
        nothing = layers.hidden[:, :0]
        return PointerState(layers, nothing, torch.zeros(nothing.shape[:2], dtype=torch.long, device=nothing.device))

    def carry(self, state: PointerState) -> PointerState:
        """Return the state for the next window: detached, and without the dropout masks."""
        return replace(state.detach(), layers=state.layers.carried())

    def step(self, token: Tensor, state: PointerState) -> Step:
        """Words [B] -> log-probabilities [B, V] of the next words, and the next state."""
        predicted = self(token.unsqueeze(1), state)
        return Step(predicted.logits.squeeze(1), predicted.state)
