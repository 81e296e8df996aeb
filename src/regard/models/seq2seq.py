"""The encoder-decoder without attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.constraints import encoder_is_own
from regard.models import registry
from regard.models.bridge import bridge_to, first_state
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import Words, output_layer
from regard.models.encoded import width_of
from regard.models.encoder import Encoder
from regard.models.generator import Advanced, EncoderDecoder
from regard.nn.cells import Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState

WAYS = ("state", "mapped", "input")


@registry.model("seq2seq")
class Seq2Seq(EncoderDecoder[DecoderState]):
    r"""A source as one vector c, handed to the decoder in one of the three ways of the notes.

    .. math:: \text{state: } & s_0 = \text{the encoder's last state}, & s_t &= R(s_{t-1}, E y_{t-1}) \\
              \text{mapped: } & s_0 = \tanh(V c), & s_t &= R(s_{t-1}, E y_{t-1}) \\
              \text{input: } & s_0 = \tanh(V c), & s_t &= R(s_{t-1}, [E y_{t-1}; c])

    The logits are W s_t + b; with `"input"` W [s_t; E y_{t-1}; c] + b: c is fed to the output layer too.

    Args:
        encoder: any module that returns `Encoded`; or a number of source words, and the model builds its own, a
            recurrent one of the width of the decoder.
        target_size: V, number of target words.
        embedding_dim: width of the embeddings.
        hidden_dim: width of the decoder.
        context: `"state"`, `"mapped"` or `"input"`.
        cells: kind, number and dropout of the layers.
        bidirectional: own encoder: read both directions, half of `hidden_dim` each.
        reverse: own encoder: read the source from its end.
        dropout: on embeddings, states of the own encoder and what the output layer reads.
        scale: the largest entry of an embedding at first. Small ones make rare words little noise; of few symbols, all
            of them frequent, such as characters, a model learns sooner with 1.

    Sutskever, Vinyals & Le 2014 (`"state"`, with `reverse`); Cho et al. 2014, equations 1 to 4 and appendix A.1.2,
    and Kalchbrenner & Blunsom 2013 (`"input"`). Teacher forcing runs over the whole target at once. With `"state"`, an
    encoder whose last state does not fit is read as with `"mapped"`.

    >>> model = Seq2Seq(11, 13, embedding_dim=3, hidden_dim=5)
    >>> model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long()).logits.shape
    torch.Size([2, 6, 13])
    """

    at_once = True
    own_encoder_keys = ("bidirectional", "reverse")

    def __init__(
        self,
        encoder: nn.Module | int,
        target_size: int,
        *,
        embedding_dim: int = 256,
        hidden_dim: int = 512,
        context: str = "state",
        cells: Cells | str = "lstm",
        bidirectional: bool = False,
        reverse: bool = False,
        dropout: float = 0.0,
        scale: float = 0.1,
    ) -> None:
        super().__init__()
        if context not in WAYS:
            raise ValueError(f"Seq2Seq: the context is passed by {', '.join(WAYS)}; got {context!r}")
        self.context = context
        if isinstance(encoder, int):
            encoder = Encoder(
                encoder,
                embedding_dim=embedding_dim,
                hidden_dim=hidden_dim,
                cells=cells,
                bidirectional=bidirectional,
                dropout=dropout,
                reverse=reverse,
                scale=scale,
            )
        else:
            given = {"bidirectional": bidirectional, "reverse": reverse}
            encoder_is_own("seq2seq", [key for key, value in given.items() if value])
        self.encoder = encoder
        source_dim = width_of(self, encoder)
        every_step = source_dim if context == "input" else 0
        self.words = Words(target_size, embedding_dim, dropout=dropout, scale=scale)
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

    def embed(self, tokens: Tensor, state: DecoderState) -> Tensor:
        words: Tensor = self.words(tokens)
        return words

    def advance(self, words: Tensor, state: DecoderState) -> Advanced[DecoderState]:
        if state.carried is None:
            outputs, layers = run(self.layers, words, state.layers)
            return Advanced((outputs,), DecoderState(layers))
        context = state.carried.unsqueeze(1).expand(-1, words.shape[1], -1)
        outputs, layers = run(self.layers, torch.cat((words, context), dim=-1), state.layers)
        return Advanced((outputs, words, context), DecoderState(layers, carried=state.carried))

    def output(self, *features: Tensor) -> Tensor:
        logits: Tensor = self.output_map(self.dropout(torch.cat(features, dim=-1)))
        return logits


def run(layers: Recurrent, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
    """Layers over x [B, T, C]: one step by itself, which keeps to the state's dropout, or all at once."""
    if x.shape[1] != 1:
        outputs, after = layers(x, None, state)
        return outputs, after
    output, after = layers.step(x.squeeze(1), state)
    return output.unsqueeze(1), after
