"""The SimpleRNN decoder with attention of the fifth note."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import no_draws, no_letters, source_attended
from regard.models.attention_config import AttentionConfig, AttentionFactory, AttentionLike, build_attention
from regard.models.bridge import bridge_to, first_state
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.encoded import AnyEncoder, width_of
from regard.models.generator import AttendingDecoder, DecoderOutput
from regard.models.recurrent_encoder import given_or_recurrent
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent


class SimpleAttention(AttendingDecoder[DecoderState]):
    r"""A decoder with attention in which the context of the last state is an input of the next state.

    .. math:: s_t = \tanh(A' [x'_t; s_{t-1}; c_{t-1}] + b), \quad c_t = \mathrm{attend}(s_t, h), \quad
              p(y_t) = \mathrm{softmax}(W [s_t; c_t])

    with s_0 = h_m, the encoder's last state, and c_0 = attend(s_0, h). Where that state does not fit, s_0 is
    tanh(W h) of the encoder's summary h.

    Args:
        encoder: source encoder, by `kind` and its arguments in a recipe, or any module that returns `Encoded` in
            Python; null in a recipe, or the source vocabulary size in Python, for a recurrent one of width D.
        target_size: V, size of the target vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width D of the decoder, and of its own encoder.
        attention: attention to the source: a score by name, or a mapping of options (see `AttentionConfig`); in Python
            also a module or a function (query width D, key width C) -> module. None for inner products of W_Q s and
            W_K h, the note's second option; its first option is the score `concat`.
        cells: recurrent cells of the decoder and its own encoder: a kind, or a mapping with all arguments;
            the note has Elman's.
        dropout: dropout of the embeddings, the states of its own encoder and [s; c].
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    The fifth note, after Bahdanau, Cho & Bengio 2015. The query is the *new* state, as in Luong's decoder, but the
    context is an input of the following state. c_0 is the aligner's query 0; the rows of `attended` are c_1, c_2, ...

    >>> model = SimpleAttention(11, 13, embedding_dim=3, hidden_dim=5)
    >>> model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long()).attended.weights().shape
    torch.Size([2, 6, 7])
    """

    unrewarded_draws: ClassVar[str] = "simple_attention"

    @checked(no_draws, no_letters, source_attended)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        *,
        embedding_dim: Size = 256,
        hidden_dim: Size = 512,
        attention: AttentionLike | AttentionFactory | None = None,
        cells: Cells | CellKind = "elman",
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.encoder = encoder = given_or_recurrent(encoder, embedding_dim, hidden_dim, cells, dropout, scale)
        self.words = WordEmbeddings(target_size, embedding_dim, dropout=dropout, scale=scale)
        default = AttentionConfig(score="dot", hidden_dim=hidden_dim)
        self.attention, context = build_attention(attention, hidden_dim, width_of(self, encoder), default)
        self.layers = Recurrent(embedding_dim + context, hidden_dim, cells)
        self.bridge = bridge_to(self.layers, encoder)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(hidden_dim + context, self.words, tied=False)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        encoded = self.encode(source, lengths).without_full_mask()
        layers = first_state(self.layers, self.bridge, encoded)
        memory = self.attention.remember(encoded.states, mask=encoded.mask)
        first = self.attention.read(layers.top.unsqueeze(1), memory)
        return DecoderState(layers, memory, first.state, first.context.squeeze(1))

    def advance(self, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        assert state.carried is not None
        new, layers = self.layers.step(torch.cat((words.squeeze(1), state.carried), dim=-1), state.layers)
        query = new.unsqueeze(1)
        attended = self.attention.read(query, state.source, state.read)
        after = DecoderState(layers, state.memory, attended.state, attended.context.squeeze(1))
        return DecoderOutput((query, attended.context), after, attended)

    def output(self, *features: Tensor) -> Tensor:
        logits: Tensor = self.output_map(self.dropout(torch.cat(features, dim=-1)))
        return logits
