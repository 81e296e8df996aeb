"""The section `model` of recipes that translate: encoder-decoders, one class per kind."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.constraints import (
    directions_halve,
    draws_are_rewarded,
    embeddings_are_own,
    embeddings_tie,
    encoder_is_own,
)
from regard.recipes.attention_section import Attention, Share, Size
from regard.recipes.encoder_sections import GRU, LSTM, CellsSection, Elman, Encoder, PlacedSection, Scale, of_kind
from regard.recipes.section import Model


class EncodedSection(Model):
    """An encoder-decoder, which builds its own encoder or has another one."""

    own_encoder_keys: ClassVar[tuple[str, ...]] = ()

    encoder: Encoder | None = None
    """What reads the source: `kind` and its arguments; None for the model's own encoder, of the keys beside this."""

    def source_dim(self, own: int) -> int:
        """Return the width of the encoder's states, `own` of the model's own encoder."""
        return own if self.encoder is None else self.encoder.output_dim

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.encoder is None:
            return self
        encoder_is_own(self.kind, [key for key in self.own_encoder_keys if key in self.model_fields_set])
        if getattr(self.encoder, "characters", None) is not None:
            raise ValueError("characters of an encoder is for the task 'tag', whose data have words")
        return self


class RNNSection(EncodedSection):
    """What recurrent encoder-decoders have in common."""

    embedding_dim: Size = 256
    """Width of the embeddings."""
    hidden_dim: Size = 512
    """Width of the layers."""
    dropout: Share = 0.0
    """On embeddings, states of the own encoder and what the output layer reads."""
    scale: Scale | None = None
    """The largest entry of an embedding at first; None for 1 where characters are read, and 0.1 otherwise."""


class BahdanauSection(RNNSection):
    """Bahdanau's encoder-decoder: the previous state looks, and a maxout layer says the word."""

    own_encoder_keys = ("bidirectional",)

    kind: Literal["bahdanau"]
    """Says that it is this model."""
    bidirectional: bool = True
    """Own encoder: both directions, `hidden_dim` each, as in the paper; otherwise its states are half as wide."""
    readout_dim: Size | None = None
    """Width of what the output layer reads, after the maxout; None for `embedding_dim`."""
    attention: Attention | None = None
    """How the source is read; None for the paper's additive score."""
    cells: GRU = CellsSection(kind="gru")
    """What the layers are made of."""
    tied: bool = False
    """Whether the output layer is the target embedding."""
    fertility: Size | None = None
    """Width of the hidden layer of Cohn's global fertility; None for none."""

    @model_validator(mode="after")
    def _fitting(self) -> BahdanauSection:
        if self.attention is not None:
            own = 2 * self.hidden_dim if self.bidirectional else self.hidden_dim
            self.attention.fits(self.hidden_dim, self.source_dim(own))
        if self.tied and self.readout_dim is not None:
            embeddings_tie(self.readout_dim, self.embedding_dim)
        return self


class LuongSection(RNNSection):
    """Luong's encoder-decoder: the current state looks, and an attentional vector says the word."""

    own_encoder_keys = ("bidirectional",)

    kind: Literal["luong"]
    """Says that it is this model."""
    attention: Attention | None = None
    """How the source is read; None for the general score. Global, local-m and local-p are its aligner."""
    feeding: bool = True
    """Whether the attentional vector is fed to the next step."""
    cells: LSTM = CellsSection(kind="lstm")
    """What the layers of the decoder, and of the own encoder, are made of."""
    bidirectional: bool = False
    """Own encoder: both directions, half of `hidden_dim` each."""
    tied: bool = False
    """Whether the output layer is the target embedding."""

    @model_validator(mode="after")
    def _fitting(self) -> LuongSection:
        if self.bidirectional:
            directions_halve(self.hidden_dim)
        if self.attention is not None:
            self.attention.fits(self.hidden_dim, self.source_dim(self.hidden_dim))
        if self.tied:
            embeddings_tie(self.hidden_dim, self.embedding_dim)
        return self


class SimpleAttentionSection(RNNSection):
    """The fifth note's decoder: the current state looks, and the state after it is told."""

    kind: Literal["simple_attention"]
    """Says that it is this model."""
    attention: Attention | None = None
    """How the source is read; None for inner products of both sides, mapped."""
    cells: Elman = CellsSection(kind="elman")
    """What the layers of the decoder, and of the own encoder, are made of."""

    @model_validator(mode="after")
    def _fitting(self) -> SimpleAttentionSection:
        if self.attention is not None:
            self.attention.fits(self.hidden_dim, self.source_dim(self.hidden_dim))
            if self.attention.draws:
                draws_are_rewarded(self.kind)
        return self


class Seq2SeqSection(RNNSection):
    """An encoder-decoder without attention."""

    own_encoder_keys = ("bidirectional", "reverse")

    kind: Literal["seq2seq"]
    """Says that it is this model."""
    context: Literal["state", "mapped", "input"] = "state"
    """How the source reaches the decoder: as its first state, through a map, or at every step too."""
    cells: LSTM = CellsSection(kind="lstm")
    """What the layers of the decoder, and of the own encoder, are made of."""
    bidirectional: bool = False
    """Own encoder: both directions, half of `hidden_dim` each."""
    reverse: bool = False
    """Own encoder: the source is read from its end."""

    @model_validator(mode="after")
    def _fitting(self) -> Seq2SeqSection:
        if self.bidirectional:
            directions_halve(self.hidden_dim)
        return self


class LSTMNSection(RNNSection):
    """An encoder-decoder of LSTMNs."""

    kind: Literal["lstmn"]
    """Says that it is this model."""
    hidden_dim: Size = 256
    """Width of the decoder, and of the own encoder."""
    fusion: Literal["deep", "shallow"] = "deep"
    """Whether what is read of the source goes into the cell or beside it."""
    tied: bool = False
    """Whether the output layer is the target embedding."""

    @model_validator(mode="after")
    def _fitting(self) -> LSTMNSection:
        if self.tied:
            read = self.source_dim(self.hidden_dim) if self.fusion == "shallow" else 0
            embeddings_tie(self.hidden_dim + read, self.embedding_dim)
        return self


class TransformerSection(EncodedSection, PlacedSection):
    """A Transformer of an encoder and a decoder."""

    kind: Literal["transformer"]
    """Says that it is this model."""
    tied: Literal["none", "output", "all"] = "output"
    """Whether the output layer is the target embedding, and (all) the source embedding of a joint vocabulary too."""

    @model_validator(mode="after")
    def _shared(self) -> Self:
        if self.encoder is not None:
            embeddings_are_own(self.tied)
        return self


class MemoryTransformerSection(EncodedSection, PlacedSection):
    """A Transformer whose decoder reads a memory of stored texts beside its source."""

    kind: Literal["memory_transformer"]
    """Says that it is this model."""
    tied: Literal["none", "output", "all"] = "output"
    """Whether the output layer is the target embedding, and (all) the source embedding of a joint vocabulary too."""
    reads: Literal["both", "memory"] = "both"
    """Whether the last layer reads source and memory, or the memory alone."""
    nearest: Size | None = None
    """How many entries of the memory a query reads; None for all."""

    @model_validator(mode="after")
    def _several(self) -> Self:
        if self.encoder is not None:
            embeddings_are_own(self.tied)
        if self.reads == "memory" and self.num_layers < 2:
            raise ValueError("reads 'memory' lets the last of several layers read it alone; num_layers is 1")
        return self


Attending = BahdanauSection | LSTMNSection | LuongSection | SimpleAttentionSection | TransformerSection


class BidirectionalSection(Model):
    """Two encoder-decoders, one for each direction, that are rewarded where they look alike."""

    kind: Literal["bidirectional"]
    """Says that it is this model."""
    model: Annotated[Attending, Field(discriminator="kind"), of_kind("bahdanau")] = BahdanauSection(kind="bahdanau")
    """What both are, with attention: `kind` and its arguments."""
    gamma: float = Field(1.0, ge=0)
    """How much agreement counts."""

    @model_validator(mode="after")
    def _rewarded(self) -> BidirectionalSection:
        attention = getattr(self.model, "attention", None)
        if attention is not None and attention.draws:
            draws_are_rewarded(self.kind)
        return self
