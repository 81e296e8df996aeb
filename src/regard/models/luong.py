"""The encoder-decoder with attention of Luong, Pham & Manning."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import no_letters, one_direction_is_own, source_attended, states_tie, two_directions
from regard.models.attention_config import AttentionConfig, AttentionFactory, AttentionLike, build_attention
from regard.models.bridge import bridge_to, first_state
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.encoded import AnyEncoder, width_of
from regard.models.generator import AttendingDecoder, DecoderOutput
from regard.models.recurrent_encoder import given_or_recurrent
from regard.models.seq2seq import run_layers
from regard.nn.cells import CellKind, Cells
from regard.nn.cpu_decode.packing import linear_then
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent
from regard.nn.shared_memory import SharedMemory


class Luong(AttendingDecoder[DecoderState]):
    r"""Luong's decoder: the *current* decoder state is the query, and the context is used in the prediction.

    .. math:: s_t = R(s_{t-1}, [E y_{t-1}; \tilde s_{t-1}]), \quad c_t = \mathrm{attend}(s_t, h), \quad
              \tilde s_t = \tanh(W_c [c_t; s_t]), \quad p(y_t) = \mathrm{softmax}(W_s \tilde s_t)

    Input feeding is the s̃_{t-1} in the first equation, zero at the first step. Without it no state depends on earlier
    contexts, and teacher forcing computes all target positions in parallel.

    Args:
        encoder: source encoder, by `kind` and its arguments in a recipe, or any module that returns `Encoded` in
            Python; null in a recipe, or the source vocabulary size in Python, for a recurrent one of width D.
        target_size: V, size of the target vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width D of the decoder, and of its own encoder.
        attention: attention to the source: a score by name, or a mapping of options (see `AttentionConfig`); in Python
            also a module or a function (query width D, key width C) -> module. None for the general score. The
            aligner selects global, local-m or local-p attention.
        feeding: input feeding: concatenate s̃ to the input of the next step.
        cells: recurrent cells of the decoder and its own encoder: a kind, or a mapping with all arguments.
        bidirectional: for its own encoder, run it in both directions, each of width `hidden_dim` / 2.
        dropout: dropout of the embeddings, the states of its own encoder and s̃.
        tied: use the target embedding as the output matrix W_s; needs `embedding_dim` = `hidden_dim`.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    Luong, Pham & Manning 2015, sections 3.1 to 3.3. The decoder starts from the encoder's last state if that fits,
    otherwise from tanh(W h) of its summary h.

    >>> model = Luong(11, 13, embedding_dim=3, hidden_dim=5, attention=AttentionConfig(score="dot", align="local_m"))
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 6, 13]), torch.Size([2, 6, 7]))
    """

    @checked(no_letters, one_direction_is_own, source_attended, states_tie, two_directions)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        *,
        embedding_dim: Size = 256,
        hidden_dim: Size = 512,
        attention: AttentionLike | AttentionFactory | None = None,
        feeding: bool = True,
        cells: Cells | CellKind = "lstm",
        bidirectional: bool = False,
        dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.feeding = feeding
        self.at_once = not feeding
        self.encoder = encoder = given_or_recurrent(
            encoder, embedding_dim, hidden_dim, cells, dropout, scale, bidirectional=bidirectional
        )
        self.words = WordEmbeddings(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.layers = Recurrent(embedding_dim + (hidden_dim if feeding else 0), hidden_dim, cells)
        self.bridge = bridge_to(self.layers, encoder)
        self.attention, context = build_attention(
            attention, hidden_dim, width_of(self, encoder), AttentionConfig(score="general")
        )
        self.attentional_map = nn.Linear(context + hidden_dim, hidden_dim, bias=False)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(hidden_dim, self.words, tied=tied)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        encoded = self.encode(source, lengths).without_full_mask()
        layers = first_state(self.layers, self.bridge, encoded)
        memory = self.attention.remember(encoded.states, mask=encoded.mask)
        nothing = torch.zeros_like(layers.top) if self.feeding else None
        return DecoderState(layers, SharedMemory(memory), self.attention.start(memory), nothing)

    def advance(self, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        if state.carried is not None:
            words = torch.cat((words, state.carried.unsqueeze(1)), dim=-1)
        outputs, layers = run_layers(self.layers, words, state.layers)
        attended = state.shared.read(self.attention, outputs, state.read)
        together = torch.cat((attended.context, outputs), dim=-1)
        attentional = linear_then(self.attentional_map, together, torch.tanh)
        carried = attentional[:, -1] if self.feeding else None
        return DecoderOutput((attentional,), DecoderState(layers, state.memory, attended.state, carried), attended)

    def output(self, *features: Tensor) -> Tensor:
        (attentional,) = features
        logits: Tensor = self.output_map(self.dropout(attentional))
        return logits
