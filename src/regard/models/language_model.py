"""The recurrent language model."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import states_tie
from regard.models.embeddings import EmbeddingDropout, LockedDropout, WordEmbeddings, output_layer
from regard.models.generator import DecoderOutput, Generator, check_tokens, needs_batch
from regard.models.model_output import ModelOutput
from regard.models.seq2seq import run_layers
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState


class LanguageModel(Generator[RecurrentState]):
    r"""The next word from all words before: h_t = RNN(E w_t, h_{t-1}), p(w_{t+1}) = softmax(W h_t + b).

    The state is immutable: pass `model.carry(predicted.state)` to continue with the next window of a text. `extras`
    holds the outputs of the top layer [B, T, D], `"outputs"` before and `"dropped"` after dropout.

    Args:
        size: V, size of the vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width of the layers.
        cells: recurrent cells of the layers: a kind, or a mapping with all arguments. With
            `variational`, `dropout` too drops the same channels at all steps.
        dropout: dropout of the embeddings and of the outputs of the top layer.
        embedding_dropout: dropout of whole rows of the embedding matrix: a dropped word is zero at all its occurrences
            in a batch (Gal & Ghahramani 2016; Merity et al. 2018).
        tied: use the embedding as the output matrix W; needs `embedding_dim` = `hidden_dim`.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise.

    Mikolov et al. 2010 (Elman); Zaremba, Sutskever & Vinyals 2014 (LSTM with dropout); Press & Wolf 2017 (tied).

    >>> import torch
    >>> model = LanguageModel(11, embedding_dim=5, hidden_dim=5, cells=Cells(kind="lstm", num_layers=2), tied=True)
    >>> first = model(torch.ones(2, 7).long())
    >>> model(torch.ones(2, 7).long(), model.carry(first.state)).logits.shape
    torch.Size([2, 7, 11])
    """

    at_once = True
    encoder_kind: ClassVar[str] = "rnn"

    @checked(states_tie)
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 200,
        hidden_dim: Size = 200,
        cells: Cells | CellKind = "lstm",
        dropout: Share = 0.0,
        embedding_dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.words = WordEmbeddings(size, embedding_dim, scale=scale)
        self.embedding_dropout = EmbeddingDropout(size, embedding_dropout)
        self.layers = Recurrent(embedding_dim, hidden_dim, cells)
        locked = self.layers.cells.variational
        self.dropout: nn.Module = LockedDropout(dropout) if locked else Dropout(dropout)
        self.output_map = output_layer(hidden_dim, self.words, tied=tied)

    def forward(self, text: Tensor, state: RecurrentState | None = None) -> ModelOutput:
        """Return logits [B, T, V] of the next word at each position; `state` is from a previous text."""
        check_tokens(self, text)
        state = self.start(None, batch=len(text)) if state is None else state
        advanced = self.advance(self.embed(text, state), state)
        (outputs,) = advanced.features
        dropped: Tensor = self.dropout(outputs)
        return ModelOutput(self.output_map(dropped), advanced.state, extras={"outputs": outputs, "dropped": dropped})

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> RecurrentState:
        return self.layers.start(needs_batch(self, source, batch))

    def carry(self, state: RecurrentState) -> RecurrentState:
        """Return the state for the next window of a text: detached, and without dropout masks."""
        return state.carried()

    def embed(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        words: Tensor = self.dropout(self.embedding_dropout(self.words(tokens), tokens))
        return words

    def advance(self, words: Tensor, state: RecurrentState) -> DecoderOutput[RecurrentState]:
        outputs, after = run_layers(self.layers, words, state)
        return DecoderOutput((outputs,), after)

    def output(self, *features: Tensor) -> Tensor:
        (outputs,) = features
        logits: Tensor = self.output_map(self.dropout(outputs))
        return logits
