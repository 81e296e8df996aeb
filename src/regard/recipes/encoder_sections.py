"""Encoders of texts in a recipe: recurrent layers, LSTMNs, convolutions, the layers of a Transformer, BERT."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from regard.constraints import channels_pair, directions_halve, heads_divide, window_is_odd
from regard.recipes.attention_section import Score, Share, Size, check_identity, named
from regard.recipes.section import Section

Scale = Annotated[float, Field(gt=0)]
"""The largest entry of an embedding at first."""


class CellsSection(Section):
    """What recurrent layers are made of; a word alone is their kind."""

    kind: Literal["elman", "gru", "lstm"] = "gru"
    """Elman's network, a GRU or an LSTM; without it, what the model has by itself."""
    num_layers: Size = 1
    """How many layers lie on each other."""
    dropout: Share = 0.0
    """Of dropping a channel on its way from one layer to the next."""
    recurrent_dropout: Share = 0.0
    """Of dropping a channel on its way from one step to the next, the same at all steps."""
    variational: bool = False
    """Whether the same channels are dropped at all steps between layers too."""


def of_kind(kind: str) -> BeforeValidator:
    """A part that is given by a mapping is of this kind where nothing else is said."""

    def told(given: Any) -> Any:
        return {"kind": kind} | given if isinstance(given, dict) else given

    return BeforeValidator(told)


Elman = Annotated[CellsSection, of_kind("elman"), named("kind")]
GRU = Annotated[CellsSection, of_kind("gru"), named("kind")]
LSTM = Annotated[CellsSection, of_kind("lstm"), named("kind")]


class BlocksSection(Section):
    """What the layers of a Transformer are made of."""

    dim: Size = 512
    """Width of the vectors between layers."""
    num_heads: Size = 8
    """Heads, among which the width is divided."""
    hidden_dim: Size | None = None
    """Width of the feed-forward network's hidden layer; None for four times the width."""
    dropout: Share = 0.1
    """Of dropping a channel of an embedding and of what a part adds."""
    attention_dropout: Share | None = None
    """Of dropping an attention weight; None for `dropout`."""
    activation_dropout: Share | None = None
    """Of dropping a hidden unit of the feed-forward network; None for `dropout`."""
    norm: Literal["pre", "post"] = "pre"
    """Whether what a part reads is normalised, or (the paper's) the sum of what it read and wrote."""
    activation: Literal["relu", "gelu"] = "relu"
    """Of the feed-forward network."""
    epsilon: float = Field(1e-5, gt=0)
    """What the LayerNorms add to the variance."""
    score: Score | None = None
    """Of all attentions; None for scaled dot products."""

    @model_validator(mode="after")
    def _divided(self) -> Self:
        heads_divide(self.dim, self.num_heads)
        if self.score is not None:
            check_identity(self.score, self.dim)
        return self


class PlacedSection(BlocksSection):
    """Layers of a Transformer whose words have positions."""

    num_layers: Size = 6
    """Number of layers; of an encoder and of a decoder each."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    """Added to embeddings, or (rotary) turned in attention of a text to itself; none shows what they are for."""
    max_length: Size = 1024
    """The longest text, for learned positions."""

    @model_validator(mode="after")
    def _turned(self) -> Self:
        if self.positions == "rotary":
            own = getattr(self.score, "hidden_dim", None)
            channels_pair(*((self.dim, self.num_heads) if own is None else (own, 1)))
            if self.score is not None and self.score.name not in ("dot", "scaled_dot", "cosine"):
                raise ValueError(
                    f"rotary positions need a score of inner products (dot, scaled_dot, cosine); "
                    f"the score is {self.score.name!r}"
                )
        return self


class CharactersSection(Section):
    """How each word is read by its letters, beside its embedding; a word alone is the kind."""

    kind: Literal["lstm", "cnn"] = "lstm"
    """The last states of an LSTM in both directions, or the maximum over the letters of a convolution."""
    embedding_dim: Size = 25
    """Width of the embeddings of letters."""
    hidden_dim: Size = 50
    """Width of a word; of lstm each direction has half of it."""
    window: Size = 3
    """Letters side by side that a filter of the cnn reads."""
    dropout: Share = 0.0
    """On the embeddings of letters."""

    @model_validator(mode="after")
    def _halved(self) -> CharactersSection:
        if self.kind == "lstm":
            directions_halve(self.hidden_dim)
        return self


CharactersPart = Annotated[CharactersSection, named("kind")]


class RNNEncoderSection(Section):
    """Recurrent layers that read a text."""

    kind: Literal["rnn"]
    """Says that it is this encoder, as no `kind` does too."""
    embedding_dim: Size = 128
    """Width of the embeddings."""
    hidden_dim: Size = 256
    """Width of the states; with two directions each has half of it."""
    cells: GRU = CellsSection(kind="gru")
    """What the layers are made of."""
    bidirectional: bool = True
    """Whether both directions are read."""
    dropout: Share = 0.0
    """On the embeddings and on the states."""
    reverse: bool = False
    """Whether the text is read from its end."""
    scale: Scale | None = None
    """The largest entry of an embedding at first; None for 1 of characters, and 0.1 otherwise."""

    characters: CharactersPart | None = None
    """Of the task tag: reads each word by its letters too, `lstm` or `cnn`; None for not."""

    @property
    def output_dim(self) -> int:
        """Width of the states."""
        return self.hidden_dim

    @model_validator(mode="after")
    def _halved(self) -> RNNEncoderSection:
        if self.bidirectional:
            directions_halve(self.hidden_dim)
        return self


class LSTMNEncoderSection(Section):
    """LSTMNs that read a text."""

    kind: Literal["lstmn"]
    """Says that it is this encoder."""
    embedding_dim: Size = 128
    """Width of the embeddings."""
    hidden_dim: Size = 256
    """Width of the layers and of the states."""
    num_layers: Size = 1
    """How many."""
    distances: Size | None = None
    """How many distances have an energy of their own; none in the paper."""
    dropout: Share = 0.0
    """On the embeddings, between layers and on the states."""
    scale: Scale | None = None
    """The largest entry of an embedding at first; None for 1 of characters, and 0.1 otherwise."""
    characters: CharactersPart | None = None
    """Of the task tag: reads each word by its letters too, `lstm` or `cnn`; None for not."""

    @property
    def output_dim(self) -> int:
        """Width of the states."""
        return self.hidden_dim


class TransformerEncoderSection(PlacedSection):
    """The layers of a Transformer that read a text."""

    kind: Literal["transformer"]
    """Says that it is this encoder."""

    @property
    def output_dim(self) -> int:
        """Width of the states."""
        return self.dim


class ConvEncoderSection(Section):
    """Convolutions with gated linear units that read a text (Gehring et al. 2017)."""

    kind: Literal["conv"]
    """Says that it is this encoder."""
    hidden_dim: Size = 256
    """Width of the embeddings, of all layers and of the states."""
    num_layers: Size = 6
    """Number of convolutions; a state sees `num_layers * (window - 1) / 2` words on either side."""
    window: Size = 3
    """Words that a filter reads, an odd number."""
    dropout: Share = 0.1
    """On the embeddings and on what each convolution reads."""
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    """Added to the embeddings; those of the papers are learned."""
    max_length: Size = 1024
    """The longest text, for learned positions."""

    @property
    def output_dim(self) -> int:
        """Width of the states."""
        return self.hidden_dim

    @model_validator(mode="after")
    def _odd(self) -> ConvEncoderSection:
        window_is_odd(self.window)
        return self


class BertEncoderSection(BlocksSection):
    """BERT, which puts its frame around a text itself."""

    kind: Literal["bert"] = "bert"
    """Says that it is this encoder."""
    num_layers: Size = 12
    """How many."""
    max_length: Size = 512
    """The most ids of a text, its frame of two among them."""
    pooled: bool = False
    """Whether the summary is tanh(W h + b) of the first state; otherwise it is that state."""

    @property
    def output_dim(self) -> int:
        """Width of the states."""
        return self.dim

    norm: Literal["post"] = "post"
    """BERT's norm is that of the sum."""
    activation: Literal["relu", "gelu"] = "gelu"
    """Of the feed-forward network."""
    epsilon: float = Field(1e-12, gt=0)
    """What the LayerNorms add to the variance."""


Encoder = Annotated[
    RNNEncoderSection | LSTMNEncoderSection | TransformerEncoderSection | BertEncoderSection | ConvEncoderSection,
    Field(discriminator="kind"),
    of_kind("rnn"),
]
