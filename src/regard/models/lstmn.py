"""An encoder-decoder both sides of which read their own past: LSTMN with attention fusion."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.models.embeddings import Words, output_layer
from regard.models.generator import Advanced, EncoderDecoder, needs_source, padded_lengths
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.nn.dropout import Dropout
from regard.nn.fusion import DeepFusion, FusionState, FusionStep, ShallowFusion

FUSIONS = ("deep", "shallow")


class LSTMNSeq2Seq(EncoderDecoder[FusionState]):
    r"""Encoder and decoder keep tapes of what they read; the decoder looks at its own and at the encoder's.

    .. math:: (\gamma, \alpha) = \mathrm{LSTMN}(x), \quad h_t = \mathrm{LSTMN}(E y_{t-1}, \text{tapes}, \gamma, \alpha),
              \quad p(y_t) = \mathrm{softmax}(W h_t + b)

    With *deep* fusion, attention to the encoder reads both of its tapes, and what it finds on the memory tape goes into
    the decoder's cell by a gate of its own (see `DeepFusion`). With *shallow* fusion it is ordinary attention beside
    the LSTMN: h_t asks, the context goes into the output layer and into the next step (see `ShallowFusion`).

    Args:
        source_size: how many source words.
        target_size: V, how many target words.
        embedding_dim: width of the embeddings.
        hidden_dim: D, width of encoder and decoder.
        fusion: `"deep"` or `"shallow"`.
        dropout: on embeddings, on the states that shallow fusion attends to, and on what the output layer reads.
        tied: whether W is the target embedding; it needs an output layer that reads as much as an embedding is wide.
        scale: the largest entry of an embedding at first. A score of small vectors is almost the sum of what the query
            and the key say, and does not find a word by what it is; where that matters more than rare words, take 1.

    Cheng, Dong & Lapata 2016, section 4. The decoder begins with empty tapes: all that it knows of the source it reads.

    >>> model = LSTMNSeq2Seq(11, 13, embedding_dim=3, hidden_dim=5)
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 6, 13]), torch.Size([2, 6, 7]))
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        *,
        embedding_dim: int = 256,
        hidden_dim: int = 256,
        fusion: str = "deep",
        dropout: float = 0.0,
        tied: bool = False,
        scale: float = 0.1,
    ) -> None:
        super().__init__()
        if fusion not in FUSIONS:
            raise ValueError(f"LSTMNSeq2Seq: fusion is {' or '.join(FUSIONS)}; got {fusion!r}")
        self.encoder = LSTMNEncoder(
            source_size, embedding_dim=embedding_dim, hidden_dim=hidden_dim, dropout=dropout, scale=scale
        )
        self.words = Words(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.decoder: DeepFusion | ShallowFusion = (
            DeepFusion(embedding_dim, hidden_dim)
            if fusion == "deep"
            else ShallowFusion(embedding_dim + hidden_dim, hidden_dim, source_dim=hidden_dim)
        )
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(self.decoder.output_dim, self.words, tied=tied)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> FusionState:
        words = needs_source(self, source)
        encoded, tapes = self.encoder.with_tapes(words, padded_lengths(words, lengths))
        if isinstance(self.decoder, DeepFusion):
            return self.decoder.start(tapes.top)
        return self.decoder.start(encoded.states, encoded.mask)

    def embed(self, tokens: Tensor, state: FusionState) -> Tensor:
        words: Tensor = self.words(tokens)
        return words

    def advance(self, words: Tensor, state: FusionState) -> Advanced[FusionState]:
        if isinstance(self.decoder, ShallowFusion):
            words = torch.cat((words, state.summary.unsqueeze(1)), dim=-1)
        step: FusionStep = self.decoder(words, state)
        return Advanced((step.output,), step.state, step.inter)

    def output(self, *features: Tensor) -> Tensor:
        (outputs,) = features
        logits: Tensor = self.output_map(self.dropout(outputs))
        return logits
