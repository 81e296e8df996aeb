"""RNNsearch: the encoder-decoder with attention of Bahdanau, Cho & Bengio."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Factor, Share, Size, checked
from regard.constraints import (
    directions_attended,
    fertility_weighed,
    no_letters,
    readout_ties,
    two_directions_are_own,
)
from regard.cuda_capture import is_recording
from regard.masks import Mask
from regard.models.attention_config import AttentionConfig, AttentionFactory, AttentionLike, build_attention
from regard.models.bridge import first_state
from regard.models.decoder_loop import loop_fits, unroll_in_loop
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import WordEmbeddings, is_word, output_layer, word_counts
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.generator import AttendingDecoder, DecoderOutput, NextInput
from regard.models.model_output import ModelOutput
from regard.models.recurrent_encoder import given_or_recurrent
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent
from regard.nn.shared_memory import SharedMemory
from regard.nn.structure_losses import GlobalFertility


class Bahdanau(AttendingDecoder[DecoderState]):
    r"""RNNsearch: the *previous* decoder state is the query, and the context is an input of the next state.

    .. math:: h = \mathrm{biRNN}(x), \quad s_0 = \tanh(W_s \overleftarrow{h}_1) \\
              c_i = \mathrm{attend}(s_{i-1}, h), \quad s_i = \mathrm{GRU}([E y_{i-1}; c_i], s_{i-1}) \\
              t_i = \mathrm{maxout}_2(U_o s_i + V_o E y_{i-1} + C_o c_i), \quad p(y_i) = \mathrm{softmax}(W_o t_i)

    Args:
        encoder: source encoder, by `kind` and its arguments in a recipe, or any module that returns `Encoded` in
            Python; null in a recipe, or the source vocabulary size in Python, for the
            bidirectional recurrent encoder of the paper.
        target_size: V, size of the target vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width D of the decoder and of each direction of its own encoder.
        bidirectional: for its own encoder, run it in both directions as in the paper, each of width `hidden_dim`.
        readout_dim: width of t after the maxout; None for `embedding_dim`.
        attention: attention to the source: a score by name, or a mapping of options (see `AttentionConfig`); in Python
            also a module or a function (query width D, key width C) -> module. None for the paper's additive score
            of width D.
        cells: recurrent cells of the layers: a kind, or a mapping with all arguments; the query is the state of the top
            layer.
        dropout: dropout of the embeddings, the states of its own encoder and t.
        tied: use the target embedding as the output matrix W_o; needs `readout_dim` = `embedding_dim`.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.
        fertility: width of the hidden layer of Cohn's global fertility model; None for none. Its negative
            log-likelihood per sentence, [B], is the extra `"fertility"`.
        fertility_weight: weight of the fertility loss relative to the translation loss; 1 in the paper.

    Bahdanau, Cho & Bengio 2015, section 3 and appendix A.2. The input of the output layer is s_i, as in equation 4 of
    the paper. Unlike the paper, a GRU of PyTorch has a second bias per gate. The first state is computed from the
    backward half of the model's own encoder summary, as in the paper, or from the whole summary of any other encoder.

    >>> model = Bahdanau(11, 13, embedding_dim=3, hidden_dim=5)
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 6, 13]), torch.Size([2, 6, 7]))
    """

    @checked(directions_attended, fertility_weighed, no_letters, readout_ties, two_directions_are_own)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        *,
        embedding_dim: Size = 256,
        hidden_dim: Size = 512,
        bidirectional: bool = True,
        readout_dim: Size | None = None,
        attention: AttentionLike | AttentionFactory | None = None,
        cells: Cells | CellKind = "gru",
        dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
        fertility: Size | None = None,
        fertility_weight: Factor = 1.0,
    ) -> None:
        super().__init__()
        own = isinstance(encoder, int)
        width = 2 * hidden_dim if bidirectional else hidden_dim
        self.encoder = encoder = given_or_recurrent(
            encoder, embedding_dim, width, cells, dropout, scale, bidirectional=bidirectional
        )
        source_dim = width_of(self, encoder)
        self.words = WordEmbeddings(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.attention, context = build_attention(
            attention, hidden_dim, source_dim, AttentionConfig(hidden_dim=hidden_dim)
        )
        self.layers = Recurrent(embedding_dim + context, hidden_dim, cells)
        summary = hidden_dim if own else source_dim
        self.bridge = nn.Linear(summary, self.layers.cells.num_layers * hidden_dim)
        readout = embedding_dim if readout_dim is None else readout_dim
        self.readout = nn.Linear(hidden_dim + embedding_dim + context, 2 * readout)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(readout, self.words, tied=tied)
        self.fertility = None
        if fertility is not None:
            self.fertility = GlobalFertility(source_dim, fertility, weight=fertility_weight)

    @property
    def feature_dim(self) -> int:
        return self.readout.in_features

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        return self._start(self.encode(source, lengths).without_full_mask())

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: NextInput | None = None
    ) -> ModelOutput:
        encoded = self.encode(source, source_lengths)
        predicted = self.unroll(target, self._start(encoded), feed)
        if self.fertility is None or predicted.attended is None:
            return predicted
        # The query of the last word predicts EOS, which aligns to no source word.
        coverage = predicted.attended.coverage(lengths=word_counts(target))
        coverage = coverage if coverage.dim() == 2 else coverage.mean(1)  # [B, S]
        loss = self.fertility(coverage, encoded.states, _fertile(source, encoded))
        return predicted._replace(extras={**predicted.extras, "fertility": loss})

    def unroll(self, tokens: Tensor, state: DecoderState, feed: NextInput | None = None) -> ModelOutput:
        if feed is None and tokens.shape[1] and is_recording() and loop_fits(self):
            return unroll_in_loop(self, tokens, state)
        return super().unroll(tokens, state, feed)

    def advance(self, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        attended = state.shared.read(self.attention, state.layers.top.unsqueeze(1), state.read)
        new, layers = self.layers.step(torch.cat((words, attended.context), dim=-1).squeeze(1), state.layers)
        features = (new.unsqueeze(1), words, attended.context)
        return DecoderOutput(features, DecoderState(layers, state.memory, attended.state), attended)

    def output(self, *features: Tensor) -> Tensor:
        pairs: Tensor = self.readout(torch.cat(features, dim=-1))  # [B, T, 2R]; maxout takes the maximum of pairs
        logits: Tensor = self.output_map(self.dropout(pairs.unflatten(-1, (-1, 2)).amax(-1)))
        return logits

    def _start(self, encoded: Encoded) -> DecoderState:
        memory = self.attention.remember(encoded.states, mask=encoded.mask)
        layers = first_state(self.layers, self.bridge, encoded)
        return DecoderState(layers, SharedMemory(memory), self.attention.start(memory))


def _fertile(source: Tensor, encoded: Encoded) -> Mask | None:
    """Return the mask of states with a fertility: words without BOS and EOS for ids, all present states otherwise."""
    ids = not source.is_floating_point() and source.shape == encoded.states.shape[:2]
    return Mask.of(is_word(source).unsqueeze(1)) if ids else encoded.mask
