"""The Transformer: encoder-decoder and decoder-only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.constraints import embeddings_are_own, heads_attend, no_letters, rotary_scores
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.generator import AttendingDecoder, DecoderOutput, Generator, needs_batch
from regard.models.model_output import ModelOutput
from regard.models.transformer_encoder import (
    PositionedEmbeddings,
    Positions,
    TransformerEncoder,
    last_norm,
    with_rotary_positions,
)
from regard.nn.multi_head import MultiHead
from regard.nn.transformer_layer import LayerConfig, LayerState, TransformerLayer
from regard.ops.attended import Attended

Ties = Literal["none", "output", "all"]


@dataclass(frozen=True)
class TransformerState:
    """State of a Transformer's decoder: the cache of each layer. A value: passed in and returned."""

    layers: tuple[LayerState, ...]

    @property
    def place(self) -> int:
        """Number of tokens decoded so far."""
        past = self.layers[0].past
        return 0 if past is None else past.size

    def select(self, rows: Tensor) -> TransformerState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        numbers = rows.tolist()  # one synchronisation with the device for all layers
        return TransformerState(tuple(layer.select(rows, numbers) for layer in self.layers))

    def detach(self) -> TransformerState:
        """Return the state detached from the autograd graph."""
        return TransformerState(tuple(layer.detach() for layer in self.layers))


class TransformerOutput(NamedTuple):
    """States [B, T, C], the updated caches, and the last layer's attention to the source."""

    output: Tensor
    state: TransformerState
    attended: Attended | None


class TransformerDecoder(nn.Module):
    """Stack of decoder layers with causal self-attention and, with `cross`, attention to the source."""

    @checked()
    def __init__(self, blocks: LayerConfig, num_layers: Size, *, cross: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(blocks, cross=cross) for _ in range(num_layers))
        self.norm = last_norm(blocks)

    def remember(self, encoded: Encoded) -> TransformerState:
        """Return the state before the first token; each layer projects the source once."""
        return TransformerState(tuple(layer.remember(encoded.states, encoded.mask) for layer in self._layers()))

    def start(self) -> TransformerState:
        """Return the state before the first token of a decoder without a source."""
        return TransformerState(tuple(LayerState() for _ in self.layers))

    def forward(self, x: Tensor, state: TransformerState) -> TransformerOutput:
        """Append x [B, T, C] to the decoded tokens and return their states."""
        after, attended = [], None
        for layer, mine in zip(self._layers(), state.layers, strict=True):
            x, new, attended = layer.extend(x, mine)
            after.append(new)
        return TransformerOutput(self.norm(x), TransformerState(tuple(after)), attended)

    def _layers(self) -> list[TransformerLayer]:
        return [layer for layer in self.layers if isinstance(layer, TransformerLayer)]


class Transformer(AttendingDecoder[TransformerState]):
    r"""The encoder-decoder Transformer.

    Args:
        encoder: source encoder, by `kind` and its arguments in a recipe, or any module that returns `Encoded` in
            Python; null in a recipe, or the source vocabulary size in Python, for a
            `TransformerEncoder` with the same blocks, layers and positions.
        target_size: V, size of the target vocabulary.
        blocks: widths, heads and dropout of the layers; None for those of the base model of the paper.
        num_layers: number of layers of the decoder, and of its own encoder.
        positions: position encoding: `"sinusoidal"` or `"learned"` vectors added to the embeddings, `"rotary"`
            rotation of queries and keys in self-attention, or `"none"`.
        max_length: number of learned positions, the longest text.
        tied: weight tying: the output matrix is the target embedding (`"output"`), and the source embedding of a joint
            vocabulary too (`"all"`).

    Training computes all target positions in parallel. In step-by-step decoding each layer caches the keys and values
    of decoded tokens, and those of the source are projected once. `attended` is the last layer's attention to the
    source. Encoder states are mapped to the decoder's width if the widths differ.

    Vaswani et al. 2017, section 3; the output layer has a bias.

    >>> import torch
    >>> model = Transformer(11, 11, LayerConfig(dim=6, num_heads=2), num_layers=2, tied="all")
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 5).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 5, 11]), torch.Size([2, 2, 5, 7]))
    """

    at_once = True

    @checked(embeddings_are_own, heads_attend, no_letters, rotary_scores)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        blocks: LayerConfig | None = None,
        *,
        num_layers: Size = 6,
        positions: Positions = "sinusoidal",
        max_length: Size = 1024,
        tied: Ties = "output",
    ) -> None:
        super().__init__()
        blocks = with_rotary_positions(LayerConfig() if blocks is None else blocks, positions)
        source_size = encoder if isinstance(encoder, int) else None
        if isinstance(encoder, int):
            encoder = TransformerEncoder(
                encoder, blocks, num_layers=num_layers, positions=positions, max_length=max_length
            )
        self.encoder = encoder
        self.words = PositionedEmbeddings(
            target_size, blocks.dim, dropout=blocks.dropout, positions=positions, max_length=max_length
        )
        self.decoder = TransformerDecoder(blocks, num_layers, cross=True)
        if tied == "all":
            if source_size != target_size:
                raise ValueError(
                    f"tied='all' needs one joint vocabulary; got {source_size} source and {target_size} target words"
                )
            assert isinstance(encoder, TransformerEncoder)
            encoder.words.table.weight = self.words.table.weight
        self.output_map = _output(blocks, self.words, tied=tied != "none")
        width = width_of(self, encoder)
        self.source_map = None if width == blocks.dim else nn.Linear(width, blocks.dim, bias=False)

    @property
    def source_reader(self) -> MultiHead:
        last = self.decoder.layers[-1]
        assert isinstance(last, TransformerLayer)
        assert last.cross is not None
        return last.cross

    def encode(self, source: Any, lengths: Tensor | None = None) -> Encoded:
        encoded = super().encode(source, lengths)
        return encoded if self.source_map is None else encoded._replace(states=self.source_map(encoded.states))

    def start(
        self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> TransformerState:
        return self.decoder.remember(self.encode(source, lengths).without_full_mask())

    def embed(self, tokens: Tensor, state: TransformerState) -> Tensor:
        words: Tensor = self.words(tokens, state.place)
        return words

    def advance(self, words: Tensor, state: TransformerState) -> DecoderOutput[TransformerState]:
        decoded: TransformerOutput = self.decoder(words, state)
        return DecoderOutput((decoded.output,), decoded.state, decoded.attended)

    def output(self, *features: Tensor) -> Tensor:
        (states,) = features
        logits: Tensor = self.output_map(states)
        return logits


class TransformerLM(Generator[TransformerState]):
    """The decoder-only Transformer: a language model.

    Args:
        size: size of the vocabulary.
        blocks: widths, heads and dropout of the layers; None for those of the base model of the paper.
        num_layers: number of layers.
        positions: position encoding: `"sinusoidal"` or `"learned"` vectors added to the embeddings, `"rotary"`
            rotation of queries and keys in self-attention, or `"none"`.
        max_length: number of learned positions, the longest text.
        tied: use the embedding as the output matrix.

    Liu et al. 2018, section 4.2.3 ("T-D"); Radford et al. 2018. The state is the cache: a text that continues from a
    state attends to all of it, and its positions continue.

    >>> import torch
    >>> model = TransformerLM(11, LayerConfig(dim=8, num_heads=2), num_layers=2, positions="rotary")
    >>> model(torch.ones(2, 7).long()).logits.shape
    torch.Size([2, 7, 11])
    """

    at_once = True
    encoder_kind: ClassVar[str] = "transformer"

    @checked(rotary_scores, heads_attend)
    def __init__(
        self,
        size: int,
        blocks: LayerConfig | None = None,
        *,
        num_layers: Size = 6,
        positions: Positions = "sinusoidal",
        max_length: Size = 1024,
        tied: bool = True,
    ) -> None:
        super().__init__()
        blocks = with_rotary_positions(LayerConfig() if blocks is None else blocks, positions)
        self.words = PositionedEmbeddings(
            size, blocks.dim, dropout=blocks.dropout, positions=positions, max_length=max_length
        )
        self.decoder = TransformerDecoder(blocks, num_layers, cross=False)
        self.output_map = _output(blocks, self.words, tied=tied)

    def forward(self, text: Tensor, state: TransformerState | None = None) -> ModelOutput:
        """Return logits [B, T, V] of the next word at each position; `state` is from a previous text."""
        return self.unroll(text, self.decoder.start() if state is None else state)

    def start(
        self, source: Tensor | None = None, lengths: Tensor | None = None, *, batch: int | None = None
    ) -> TransformerState:
        needs_batch(self, source, batch)
        return self.decoder.start()

    def embed(self, tokens: Tensor, state: TransformerState) -> Tensor:
        words: Tensor = self.words(tokens, state.place)
        return words

    def advance(self, words: Tensor, state: TransformerState) -> DecoderOutput[TransformerState]:
        decoded: TransformerOutput = self.decoder(words, state)
        return DecoderOutput((decoded.output,), decoded.state)

    def output(self, *features: Tensor) -> Tensor:
        (states,) = features
        logits: Tensor = self.output_map(states)
        return logits


def _output(blocks: LayerConfig, words: PositionedEmbeddings, *, tied: bool) -> nn.Linear:
    layer = nn.Linear(blocks.dim, words.table.num_embeddings)
    nn.init.normal_(layer.weight, std=blocks.dim**-0.5)
    nn.init.zeros_(layer.bias)
    if tied:
        layer.weight = words.table.weight
    return layer
