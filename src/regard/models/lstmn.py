"""LSTMN encoder-decoder with deep or shallow attention fusion."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import fusion_ties, no_letters
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.encoded import AnyEncoder, width_of
from regard.models.generator import DecoderOutput, EncoderDecoder
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.nn.deep_lstmn import DeepLSTMNState
from regard.nn.dropout import Dropout
from regard.nn.fusion import DeepFusion, FusionState, FusionStep, ShallowFusion

Fusion = Literal["deep", "shallow"]


class LSTMNSeq2Seq(EncoderDecoder[FusionState]):
    r"""LSTMN encoder and decoder: the decoder attends to its own tapes and to those of the encoder.

    .. math:: (\gamma, \alpha) = \mathrm{LSTMN}(x), \quad h_t = \mathrm{LSTMN}(E y_{t-1}, \text{tapes}, \gamma, \alpha),
              \quad p(y_t) = \mathrm{softmax}(W h_t + b)

    With *deep* fusion, the decoder attends to both tapes of the encoder, and the read of the memory tape enters the
    decoder's cell through its own gate (see `DeepFusion`). *Shallow* fusion is ordinary attention beside the LSTMN: h_t
    is the query, and the context enters the output layer and the next step (see `ShallowFusion`).

    Args:
        encoder: source encoder, by `kind` and its arguments in a recipe, or any module that returns `Encoded` in
            Python; null in a recipe, or the source vocabulary size in Python, for an LSTMN of width D.
        target_size: V, size of the target vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width D of the decoder, and of its own encoder.
        fusion: use of the source context: inside the decoder's cell (`"deep"`) or beside it (`"shallow"`).
        dropout: dropout of the embeddings, of the states that shallow fusion attends to, and of the input of the output
            layer.
        tied: use the target embedding as the output matrix W; needs an output layer of input width `embedding_dim`.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With 1, the score learns to find words by content sooner, at the cost of noise from rare words.

    Cheng, Dong & Lapata 2016, section 4. The decoder starts with empty tapes, so attention is its only access to the
    source. For an encoder without tapes of width D, deep fusion maps its states h: γ = V h, α = U h.

    >>> model = LSTMNSeq2Seq(11, 13, embedding_dim=3, hidden_dim=5)
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 6, 13]), torch.Size([2, 6, 7]))
    """

    @checked(fusion_ties, no_letters)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        *,
        embedding_dim: Size = 256,
        hidden_dim: Size = 256,
        fusion: Fusion = "deep",
        dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        if isinstance(encoder, int):
            encoder = LSTMNEncoder(
                encoder, embedding_dim=embedding_dim, hidden_dim=hidden_dim, dropout=dropout, scale=scale
            )
        self.encoder = encoder
        source_dim = width_of(self, encoder)
        self.words = WordEmbeddings(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.decoder: DeepFusion | ShallowFusion = (
            DeepFusion(embedding_dim, hidden_dim)
            if fusion == "deep"
            else ShallowFusion(embedding_dim + source_dim, hidden_dim, source_dim=source_dim)
        )
        has_tapes = isinstance(encoder, LSTMNEncoder) and source_dim == hidden_dim
        self.tape_map = None if has_tapes or fusion == "shallow" else nn.Linear(source_dim, 2 * hidden_dim)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(self.decoder.output_dim, self.words, tied=tied)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> FusionState:
        encoded = self.encode(source, lengths).without_full_mask()
        if isinstance(self.decoder, ShallowFusion):
            return self.decoder.start(encoded.states, encoded.mask)
        if self.tape_map is not None:
            hidden, cells = self.tape_map(encoded.states).chunk(2, dim=-1)  # [B, S, D] each
        else:
            assert isinstance(encoded.state, DeepLSTMNState)
            hidden, cells = encoded.state.top.hidden, encoded.state.top.cells
        return self.decoder.start_on(hidden, cells, encoded.mask)

    def advance(self, words: Tensor, state: FusionState) -> DecoderOutput[FusionState]:
        if isinstance(self.decoder, ShallowFusion):
            words = torch.cat((words, state.summary.unsqueeze(1)), dim=-1)
        step: FusionStep = self.decoder(words, state)
        return DecoderOutput((step.output,), step.state, step.inter)

    def output(self, *features: Tensor) -> Tensor:
        (outputs,) = features
        logits: Tensor = self.output_map(self.dropout(outputs))
        return logits
