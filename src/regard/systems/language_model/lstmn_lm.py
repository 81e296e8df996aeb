"""LSTMN language model: an LSTM that attends to its own previous states."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import states_tie
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.generator import DecoderOutput, Generator, needs_batch
from regard.models.model_output import ModelOutput
from regard.nn.deep_lstmn import DeepLSTMN, DeepLSTMNState, DeepLSTMNStep
from regard.nn.dropout import Dropout
from regard.protocol import Step


class LSTMNLM(Generator[DeepLSTMNState]):
    r"""LSTMN language model with tapes of previous words: h_t = LSTMN(E w_t, tapes), p(w_{t+1}) = softmax(W h_t + b).

    An LSTM has one cell, which every word partly overwrites. An LSTMN keeps a cell for each of the last words, and each
    new word attends to them. The tapes are part of the state: pass `model.carry(predicted.state)` to the next window of
    a text to continue there.

    Args:
        size: vocabulary size V.
        embedding_dim: width of the embeddings.
        hidden_dim: width of the layers.
        num_layers: number of layers.
        window: number of previous words on the tapes, in training, evaluation and generation alike.
        distances: number of distances with a separate energy term, see `LSTMNCell`; None for none, as in the paper.
        dropout: dropout of the embeddings, between layers and of the outputs of the top layer.
        tied: use the embedding as the output matrix W; needs `embedding_dim` = `hidden_dim`.
        scale: largest entry of an embedding at initialisation; null in a recipe for 1 with characters, and 0.1
            otherwise. With 1, the score learns earlier to find words by content, at the cost of noise from rare words.

    Cheng, Dong & Lapata 2016, section 5.1. There the tapes are reset at each sentence, as they are here for texts that
    are not split into windows.

    >>> import torch
    >>> model = LSTMNLM(11, embedding_dim=3, hidden_dim=5, window=4)
    >>> first = model(torch.ones(2, 7).long())
    >>> second = model(torch.ones(2, 7).long(), model.carry(first.state))
    >>> second.logits.shape, second.attended.weights().shape                # of 4 words before and these 7
    (torch.Size([2, 7, 11]), torch.Size([2, 7, 11]))
    """

    at_once = True
    encoder_kind: ClassVar[str] = "lstmn"

    @checked(states_tie)
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 150,
        hidden_dim: Size = 300,
        num_layers: Size = 1,
        window: Size = 50,
        distances: Size | None = None,
        dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        self.layers = DeepLSTMN(
            embedding_dim, hidden_dim, num_layers=num_layers, dropout=dropout, window=window, distances=distances
        )
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(hidden_dim, self.words, tied=tied)

    def forward(self, text: Tensor, state: DeepLSTMNState | None = None) -> ModelOutput:
        """Words [B, T], optionally the state of the previous window -> logits [B, T, V] of the next words."""
        return self.unroll(text, self.start(None, batch=len(text)) if state is None else state)

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> DeepLSTMNState:
        return self.layers.start(needs_batch(self, source, batch))

    def carry(self, state: DeepLSTMNState) -> DeepLSTMNState:
        """Return the state for the next window: the tapes, detached."""
        return state.detach()

    def advance(self, words: Tensor, state: DeepLSTMNState) -> DecoderOutput[DeepLSTMNState]:
        step: DeepLSTMNStep = self.layers(words, state=state)
        return DecoderOutput((step.output,), step.state, step.attended)

    def step(self, token: Tensor, state: DeepLSTMNState) -> Step:
        """Run one step. Its attention covers the generated text and not a source, so the step has no alignment."""
        return super().step(token, state)._replace(attended=None)

    def output(self, *features: Tensor) -> Tensor:
        (outputs,) = features
        logits: Tensor = self.output_map(self.dropout(outputs))
        return logits
