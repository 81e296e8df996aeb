"""Show and Tell; Show, Attend and Tell: a recurrent caption decoder with attention over picture regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, NotInRecipe, Probability, ScoreSpec, Share, Size, checked
from regard.models.attention_config import AttentionConfig
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.encoded import Encoded, width_of
from regard.models.generator import DecoderOutput, EncoderDecoder
from regard.models.model_output import log_softmax
from regard.models.seq2seq import run_layers
from regard.nn.aligners.hard import AtTest
from regard.nn.attention import Attention
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.reinforce import MovingBaseline
from regard.nn.rnn import Recurrent, RecurrentState
from regard.nn.shared_memory import SharedMemory
from regard.systems.captions.conv_features import ConvFeatures
from regard.systems.captions.feature_maps import FeatureMaps

Looking = Literal["none", "soft", "hard", "marginal"]
Output = Literal["deep", "maxout"]


@dataclass(frozen=True, kw_only=True)
class Convolutions:
    """Settings of the convolutional picture encoder, trained from scratch; see `ConvFeatures`.

    Attributes:
        width: channels of the first stage; the number doubles with each stage.
        depth: residual blocks per stage.
        stages: number of stages; height and width are divided by 2 ** stages.
        scales: number of stages, counted from the last, whose feature maps provide regions.
        output_dim: width C of a region; None for that of the last stage.
        norm: group or batch normalisation.
        positions: add a learned projection of the position and size of each region.
        dropout: dropout of the regions.
    """

    width: Size = 32
    depth: Size = 2
    stages: Size = 4
    scales: Size = 1
    output_dim: Size | None = None
    norm: Literal["group", "batch"] = "group"
    positions: bool = True
    dropout: Share = 0.0

    def make(self, channels: int) -> ConvFeatures:
        """Build the encoder of pictures with the given number of channels."""
        return ConvFeatures(
            channels,
            width=self.width,
            depth=self.depth,
            stages=self.stages,
            scales=self.scales,
            output_dim=self.output_dim,
            norm=self.norm,
            positions=self.positions,
            dropout=self.dropout,
        )


class Captioner(EncoderDecoder[DecoderState]):
    r"""Recurrent caption decoder with attention over the regions a_1 ... a_S of a picture, or over their mean only.

    .. math:: (c_0, h_0) = (f_c(\bar a), f_h(\bar a)), \quad
              z_t = \beta_t \sum_i \alpha_{ti} a_i, \quad \alpha_t = \mathrm{attend}(h_{t-1}, a), \quad
              \beta_t = \sigma(w \cdot h_{t-1}) \\
              (c_t, h_t) = \mathrm{LSTM}([E y_{t-1}; z_t], c_{t-1}, h_{t-1}), \quad
              p(y_t) = \mathrm{softmax}(L_o \tanh(E y_{t-1} + L_h h_t + L_z z_t))

    f_c and f_h are perceptrons with one hidden layer.

    - `"soft"` is the model above.
    - `"hard"` samples one region instead of the weighted sum; the attention is trained with REINFORCE.
    - `"marginal"` sums over the samples exactly: :math:`p(y_t) = \sum_i \alpha_{ti}\, p(y_t \mid h_t, a_i)`. The LSTM
      does not read z_t, so that the sum factorizes over words; the query is the current state h_t.
    - `"none"` is Show and Tell: the LSTM reads the mean region before the first word, and no regions after it.

    Args:
        channels: number of channels of a picture, or width C of a feature map.
        target_size: vocabulary size V.
        encoder: any module that returns `Encoded`; None to build one from `convolutions`.
        given: take the source as a feature map whose regions need no encoder.
        convolutions: settings of the convolutional picture encoder.
        attention: kind of attention over the regions, see above.
        score: score of the attention, by name or with its arguments.
        attention_dim: width of the score; None for that of the decoder.
        gate: multiply the context by a gate β_t computed from the decoder state.
        output: output layer: `deep` as above, or `maxout` over pairs of units, as in RNNsearch.
        embedding_dim: width of the word embeddings and of the output layer.
        hidden_dim: width of the decoder.
        cells: recurrent cells of the decoder, by kind or with all their arguments.
        dropout: dropout of the embeddings and in the output layer.
        tied: use the embedding as the output matrix L_o.
        scale: largest entry of an embedding at initialisation.
        expectation: for hard attention, the probability that a caption is trained with the expected context instead of
            a sample; 1/2 in the paper.
        at_test: for hard attention, the context in evaluation.

    Vinyals et al. 2015, "Show and Tell", section 3.1; Xu et al. 2015, "Show, Attend and Tell", equations 1 to 14. The
    tanh and the form of f_c and f_h are those of the authors' program. The marginal is that of Wu, Shapiro & Cotterell
    2018, "Hard Non-Monotonic Attention for Character-Level Transduction", section 3.

    >>> model = Captioner(3, 13, convolutions=Convolutions(width=8, depth=1, stages=2), embedding_dim=5, hidden_dim=7)
    >>> predicted = model(torch.rand(2, 3, 16, 24), None, torch.ones(2, 6).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape                      # 4 x 6 regions
    (torch.Size([2, 6, 13]), torch.Size([2, 6, 24]))
    """

    @checked()
    def __init__(
        self,
        channels: int,
        target_size: int,
        *,
        encoder: Annotated[nn.Module | None, NotInRecipe()] = None,
        given: Annotated[bool, NotInRecipe()] = False,
        convolutions: Convolutions | None = None,
        attention: Looking = "soft",
        score: ScoreSpec = "additive",
        attention_dim: Size | None = None,
        gate: bool = True,
        output: Output = "deep",
        embedding_dim: Size = 256,
        hidden_dim: Size = 512,
        cells: Cells | CellKind = "lstm",
        dropout: Share = 0.0,
        tied: bool = False,
        scale: EmbeddingScale = 0.1,
        expectation: Probability = 0.5,
        at_test: AtTest = "expectation",
    ) -> None:
        super().__init__()
        self.looking: Looking = attention
        self.at_once = attention in ("none", "marginal")
        if encoder is None:
            encoder = FeatureMaps(channels) if given else (convolutions or Convolutions()).make(channels)
        self.encoder = encoder
        regions = width_of(self, encoder)
        reads = regions if attention in ("soft", "hard") else 0
        self.words = WordEmbeddings(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.layers = Recurrent(embedding_dim + reads, hidden_dim, cells)
        self.attention: Attention | None = None
        if attention == "none":
            self.first_map = nn.Linear(regions, embedding_dim)
        else:
            align = {"name": "hard", "expectation_probability": expectation, "at_test": at_test}
            attending = AttentionConfig(
                score=score, hidden_dim=attention_dim, align=align if attention == "hard" else "softmax"
            )
            reader = attending(hidden_dim, regions)
            assert isinstance(reader, Attention)
            self.attention = reader
            width = self.layers.cells.num_layers * hidden_dim
            self.first_hidden = _perceptron(regions, hidden_dim, width)
            self.first_cell = _perceptron(regions, hidden_dim, width) if self.layers.cells.kind == "lstm" else None
        self.gate = nn.Linear(hidden_dim, 1) if gate and attention != "none" else None
        self.maxout = output == "maxout"
        summed = 2 * embedding_dim if self.maxout else embedding_dim
        self.word_map = nn.Linear(embedding_dim, summed, bias=False) if self.maxout else nn.Identity()
        self.hidden_map = nn.Linear(hidden_dim, summed)
        self.context_map = None if attention == "none" else nn.Linear(regions, summed, bias=False)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(embedding_dim, self.words, tied=tied)
        self.baseline = MovingBaseline() if attention == "hard" else None

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        encoded = self.encode(source, lengths).without_full_mask()
        if self.attention is None:
            begin = self.layers.start(len(encoded.summary))
            return DecoderState(self.layers.step(self.first_map(encoded.summary), begin)[1])
        # The marginal needs L_z a_i per region, not per word: project the regions once and use them as values.
        values = self.context_map(encoded.states) if self.looking == "marginal" and self.context_map else None
        memory = self.attention.remember(encoded.states, values, mask=encoded.mask)
        return DecoderState(self._first_state(encoded), SharedMemory(memory), self.attention.start(memory))

    def advance(self, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        if self.attention is None:
            outputs, layers = run_layers(self.layers, words, state.layers)
            return DecoderOutput((words, outputs), DecoderState(layers))
        if self.looking == "marginal":
            return self._marginal(self.attention, words, state)
        top = state.layers.top.unsqueeze(1)
        attended = state.shared.read(self.attention, top, state.read)  # the query is h_{t-1}, before this step
        context = self._gated(attended.context, top)
        new, layers = self.layers.step(torch.cat((words, context), dim=-1).squeeze(1), state.layers)
        features = (words, new.unsqueeze(1), context)
        return DecoderOutput(features, DecoderState(layers, state.memory, attended.state), attended)

    def output(self, *features: Tensor) -> Tensor:
        if self.looking == "marginal":
            (log_probs,) = features
            return log_probs
        words, hidden, *context = features
        summed = self.word_map(words) + self.hidden_map(hidden)
        if self.context_map is not None:
            summed = summed + self.context_map(*context)
        return self._logits(summed)

    def _marginal(self, attention: Attention, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        """Advance by words [B, T, E]; the features are log p(y_t), [B, T, V], marginalized over regions."""
        outputs, layers = run_layers(self.layers, words, state.layers)
        attended = state.shared.read(attention, outputs, state.read)
        values = state.shared.memory.value.squeeze(1)  # [B / copies, S, E]
        values = values.repeat_interleave(state.shared.copies, 0) if state.shared.copies > 1 else values
        each = self._gated(values.unsqueeze(1), outputs.unsqueeze(2))  # [B, T or 1, S, E]
        summed = (self.word_map(words) + self.hidden_map(outputs)).unsqueeze(2) + each  # [B, T, S, E]
        weights = attended.weights().unsqueeze(3)  # [B, T, S, 1]
        # Masked regions have weight 0: clamping keeps their log finite, so that no gradient becomes NaN.
        log_alpha = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
        mixed = (log_alpha + log_softmax(self._logits(summed))).logsumexp(2)  # [B, T, V]
        return DecoderOutput((mixed,), DecoderState(layers, state.memory, attended.state), attended)

    def _gated(self, context: Tensor, hidden: Tensor) -> Tensor:
        return context if self.gate is None else torch.sigmoid(self.gate(hidden)) * context

    def _logits(self, summed: Tensor) -> Tensor:
        features = summed.unflatten(-1, (-1, 2)).amax(-1) if self.maxout else summed.tanh()  # [..., E]
        logits: Tensor = self.output_map(self.dropout(features))
        return logits

    def _first_state(self, encoded: Encoded) -> RecurrentState:
        mean, width = encoded.summary, self.layers.hidden_dim
        hidden = self.first_hidden(mean).unflatten(1, (-1, width))  # [B, L, D]
        if self.first_cell is None:
            return RecurrentState(hidden)
        return RecurrentState(hidden, self.first_cell(mean).unflatten(1, (-1, width)))


def _perceptron(width: int, hidden: int, output: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, output), nn.Tanh())
