"""The language model that reads its own past: LSTMN."""

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
    r"""The next word from a tape of all words before: h_t = LSTMN(E w_t, tapes), p(w_{t+1}) = softmax(W h_t + b).

    Where an LSTM has one cell, which every word overwrites a little, this one keeps a cell for each of the last words,
    and each new word looks for those that it goes on from. The tapes are a value: hand `model.carry(predicted.state)`
    to the next window of a text to go on there.

    Args:
        size: V, how many words.
        embedding_dim: width of the embeddings.
        hidden_dim: width of the layers.
        num_layers: number of layers.
        window: number of previous words on the tapes, in training, evaluation and generation alike.
        distances: number of distances with an energy of their own, see `LSTMNCell`; None for none, as in the paper.
        dropout: dropout of the embeddings, between layers and of the outputs of the top layer.
        tied: use the embedding as the output matrix W; needs `embedding_dim` = `hidden_dim`.
        scale: largest entry of an embedding at initialisation; null in a recipe for 1 with characters, and 0.1
            otherwise. With 1, the score finds words by their content sooner, at the cost of noise from rare words.

    Cheng, Dong & Lapata 2016, section 5.1, where the tapes begin anew with each sentence, as they do here for texts
    that are not read in windows.

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
        """Words [B, T], and where an earlier text ended -> logits [B, T, V] of what follows each word."""
        return self.unroll(text, self.start(None, batch=len(text)) if state is None else state)

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> DeepLSTMNState:
        return self.layers.start(needs_batch(self, source, batch))

    def carry(self, state: DeepLSTMNState) -> DeepLSTMNState:
        """State for the next window of a text: the tapes, without history."""
        return state.detach()

    def advance(self, words: Tensor, state: DeepLSTMNState) -> DecoderOutput[DeepLSTMNState]:
        step: DeepLSTMNStep = self.layers(words, state=state)
        return DecoderOutput((step.output,), step.state, step.attended)

    def step(self, token: Tensor, state: DeepLSTMNState) -> Step:
        """One word; what it attended to is its own past, no source, so the step carries no alignment."""
        return super().step(token, state)._replace(attended=None)

    def output(self, *features: Tensor) -> Tensor:
        (outputs,) = features
        logits: Tensor = self.output_map(self.dropout(outputs))
        return logits
