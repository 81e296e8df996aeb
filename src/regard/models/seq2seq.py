"""The encoder-decoder without attention."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import no_letters, one_direction_is_own, order_is_own, two_directions
from regard.models.bridge import bridge_to, first_state
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import WordEmbeddings, output_layer
from regard.models.encoded import AnyEncoder, width_of
from regard.models.generator import DecoderOutput, EncoderDecoder
from regard.models.recurrent_encoder import given_or_recurrent
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState

Context = Literal["state", "mapped", "input"]


class Seq2Seq(EncoderDecoder[DecoderState]):
    r"""An encoder-decoder that summarises the source in one vector c, with three ways to pass it to the decoder.

    .. math:: \text{state: } & s_0 = \text{the encoder's last state}, & s_t &= R(s_{t-1}, E y_{t-1}) \\
              \text{mapped: } & s_0 = \tanh(V c), & s_t &= R(s_{t-1}, E y_{t-1}) \\
              \text{input: } & s_0 = \tanh(V c), & s_t &= R(s_{t-1}, [E y_{t-1}; c])

    The logits are W s_t + b; with `"input"` W [s_t; E y_{t-1}; c] + b: c is fed to the output layer too.

    Args:
        encoder: source encoder, by `kind` and its arguments in a recipe, or any module that returns `Encoded` in
            Python; null in a recipe, or the source vocabulary size in Python, for a
            recurrent one as wide as the decoder.
        target_size: V, size of the target vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width of the decoder.
        context: path from encoder to decoder: `"state"` copies the last encoder state to the first decoder state,
            `"mapped"` maps it with a linear layer, `"input"` also feeds c as an input at every step.
        cells: recurrent cells of the decoder and its own encoder: a kind, or a mapping with all arguments.
        bidirectional: for its own encoder, run it in both directions, each of width `hidden_dim` / 2.
        reverse: for its own encoder, read the source backwards.
        dropout: dropout of the embeddings, the states of its own encoder and the input of the output layer.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    Sutskever, Vinyals & Le 2014 (`"state"`, with `reverse`); Cho et al. 2014, equations 1 to 4 and appendix A.1.2,
    and Kalchbrenner & Blunsom 2013 (`"input"`). Teacher forcing runs the layers over the whole target in one call. With
    `"state"`, the last state of an encoder is mapped as in `"mapped"` if it does not fit.

    >>> model = Seq2Seq(11, 13, embedding_dim=3, hidden_dim=5)
    >>> model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long()).logits.shape
    torch.Size([2, 6, 13])
    """

    at_once = True

    @checked(no_letters, one_direction_is_own, order_is_own, two_directions)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        *,
        embedding_dim: Size = 256,
        hidden_dim: Size = 512,
        context: Context = "state",
        cells: Cells | CellKind = "lstm",
        bidirectional: bool = False,
        reverse: bool = False,
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.context = context
        self.encoder = encoder = given_or_recurrent(
            encoder, embedding_dim, hidden_dim, cells, dropout, scale, bidirectional=bidirectional, reverse=reverse
        )
        source_dim = width_of(self, encoder)
        every_step = source_dim if context == "input" else 0
        self.words = WordEmbeddings(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.layers = Recurrent(embedding_dim + every_step, hidden_dim, cells)
        self.bridge = bridge_to(self.layers, encoder)
        if self.bridge is None and context != "state":
            self.bridge = nn.Linear(source_dim, self.layers.cells.num_layers * hidden_dim)
        features = hidden_dim + (embedding_dim + source_dim if every_step else 0)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(features, self.words, tied=False)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        encoded = self.encode(source, lengths)
        layers = first_state(self.layers, self.bridge, encoded)
        return DecoderState(layers, carried=encoded.summary if self.context == "input" else None)

    def advance(self, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        if state.carried is None:
            outputs, layers = run_layers(self.layers, words, state.layers)
            return DecoderOutput((outputs,), DecoderState(layers))
        context = state.carried.unsqueeze(1).expand(-1, words.shape[1], -1)
        outputs, layers = run_layers(self.layers, torch.cat((words, context), dim=-1), state.layers)
        return DecoderOutput((outputs, words, context), DecoderState(layers, carried=state.carried))

    def output(self, *features: Tensor) -> Tensor:
        logits: Tensor = self.output_map(self.dropout(torch.cat(features, dim=-1)))
        return logits


def run_layers(layers: Recurrent, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
    """Run layers over x [B, T, C]: a single step (T = 1) reuses the dropout masks of the state."""
    if x.shape[1] != 1:
        outputs, after = layers(x, None, state)
        return outputs, after
    output, after = layers.step(x.squeeze(1), state)
    return output.unsqueeze(1), after
