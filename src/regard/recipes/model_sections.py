"""The section `model` of a recipe: one class a kind, with the arguments of its constructor and what must fit together.

Whoever gets something wrong here hears of it before PyTorch is imported.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from regard.constraints import shifts_balance, shifts_fit
from regard.recipes.attention_section import Share, Size
from regard.recipes.encoder_sections import LSTM, CellsSection, Encoder, RNNEncoderSection
from regard.recipes.language_model_sections import (
    BertSection,
    CharRNNSection,
    LanguageModelSection,
    LSTMNLMSection,
    PointerLMSection,
    TransformerLMSection,
)
from regard.recipes.section import Model
from regard.recipes.translator_sections import (
    BahdanauSection,
    BidirectionalSection,
    LSTMNSection,
    LuongSection,
    MemoryTransformerSection,
    Seq2SeqSection,
    SimpleAttentionSection,
    TransformerSection,
)


class AcceptorSection(Model):
    """A whole text to one label."""

    kind: Literal["acceptor"]
    """Says that it is this model."""
    encoder: Encoder = RNNEncoderSection(kind="rnn")
    """What reads the text: `kind` and its arguments."""
    pooling: Literal["last", "mean", "max", "attention"] = "attention"
    """What is made of its states: the last, their mean, their maximum, or weighted means."""
    num_hops: Size = 1
    """How many weighted means, of attention."""
    attention_dim: Size | None = None
    """Width inside the attention; None for the encoder's."""
    penalty: float = Field(0.0, ge=0)
    """What hops cost that look at the same words, of attention."""
    pair_dim: Size | None = None
    """Reads two texts apart and compares them in so many factors; None for one text."""
    hidden_dim: Size | None = None
    """Units of a hidden layer; None for none."""
    pruned: tuple[Size, Size] | None = None
    """A hidden layer with so many units for each hop and for each channel instead."""
    dropout: Share = 0.0
    """On what was pooled or compared, and on the hidden layer."""
    word_dropout: float = Field(0.0, ge=0, le=1)
    """How often a word becomes unknown in training."""

    @model_validator(mode="after")
    def _one_layer(self) -> AcceptorSection:
        if self.hidden_dim is not None and self.pruned is not None:
            raise ValueError("hidden_dim and pruned are two ways to make one hidden layer; give one of them")
        return self


class TransducerSection(Model):
    """Each word of a text to a tag."""

    kind: Literal["transducer"]
    """Says that it is this model."""
    encoder: Encoder = RNNEncoderSection(kind="rnn")
    """What reads the text: `kind` and its arguments."""
    crf: bool = False
    """Whether tags are scored together with the tags beside them, in a linear chain."""
    tag_scheme: Literal["bio", "bioes"] | None = None
    """Of a CRF: answers are sequences of tags that the scheme has; None for any."""
    dropout: Share = 0.0
    """On the states."""
    word_dropout: float = Field(0.0, ge=0, le=1)
    """How often a word becomes unknown in training; its letters stay."""

    @model_validator(mode="after")
    def _scored_together(self) -> TransducerSection:
        if self.tag_scheme is not None and not self.crf:
            raise ValueError("tag_scheme is of a crf, which knows the tag before; set crf to true")
        return self


class SpanReaderSection(Model):
    """A question and a passage to where the answer begins and ends."""

    kind: Literal["span_reader"]
    """Says that it is this model."""
    encoder: Encoder = RNNEncoderSection(kind="rnn")
    """What reads both: `kind` and its arguments."""
    dropout: Share = 0.1
    """On the states that the output looks at."""


class MemoryNetworkSection(Model):
    """An end-to-end memory network: a question reads a story in hops."""

    kind: Literal["memory_network"]
    """Says that it is this model."""
    dim: Size = 20
    """Width of the embeddings."""
    num_hops: Size = 3
    """How often it reads."""
    tying: Literal["adjacent", "layerwise"] = "adjacent"
    """Whether what one hop reads by is what the next asks by, or all hops are alike."""
    memory_size: Size = 50
    """How many sentences it remembers, the last ones."""
    empty_slots: bool = True
    """Whether the empty part of the memory can be looked at too."""
    position_encoding: bool = True
    """Whether the places of words in a sentence count."""
    noise: Share = 0.1
    """The rate of empty memories in training."""
    linear_start: bool = False
    """Whether training begins without the softmax."""


class NTMSection(Model):
    """A Neural Turing Machine."""

    kind: Literal["ntm"]
    """Says that it is this model."""
    controller: Literal["feedforward", "lstm"] = "feedforward"
    """What moves the heads."""
    hidden_dim: Size = 100
    """Width of the controller."""
    num_layers: Size = 1
    """Of the controller."""
    rows: Size = 128
    """How many rows the tape has."""
    row_dim: Size = 20
    """Width of a row."""
    read_heads: Size = 1
    """How many heads read."""
    write_heads: Size = 1
    """How many heads write."""
    shifts: int = 3
    """How many places a head may move in a step, odd: 3 for one back, none and one forth."""
    initial: Literal["peaked", "uniform"] = "peaked"
    """Where the heads start: on the first row, or everywhere."""
    tape: Literal["constant", "learned"] = "constant"
    """What the tape holds at first."""

    @model_validator(mode="after")
    def _moving(self) -> NTMSection:
        shifts_balance(self.shifts)
        shifts_fit(self.shifts, self.rows)
        return self


class VectorRNNSection(Model):
    """Recurrent layers on vectors, beside the machines."""

    kind: Literal["rnn"]
    """Says that it is this model."""
    hidden_dim: Size = 256
    """Width of a layer."""
    cells: LSTM = CellsSection(kind="lstm")
    """What the layers are made of."""


class GATSection(Model):
    """A graph attention network."""

    kind: Literal["gat"]
    """Says that it is this model."""
    hidden_dim: Size = 8
    """Width of one head."""
    num_heads: Size = 8
    """Heads of the hidden layers, side by side."""
    output_heads: Size = 1
    """Heads of the last layer, averaged."""
    num_layers: Size = 2
    """How many."""
    residual: bool = False
    """Whether a layer between the first and the last adds what it was given."""
    dropout: Share = 0.6
    """Of features and hidden states, of weights, and of what is read with them."""
    negative_slope: float = 0.2
    """Of the LeakyReLU of the energies."""


ModelSection = Annotated[
    AcceptorSection
    | BahdanauSection
    | BertSection
    | BidirectionalSection
    | CharRNNSection
    | GATSection
    | LSTMNLMSection
    | LSTMNSection
    | LanguageModelSection
    | LuongSection
    | MemoryNetworkSection
    | MemoryTransformerSection
    | NTMSection
    | PointerLMSection
    | Seq2SeqSection
    | SimpleAttentionSection
    | SpanReaderSection
    | TransducerSection
    | TransformerLMSection
    | TransformerSection
    | VectorRNNSection,
    Field(discriminator="kind"),
]

KINDS: dict[str, tuple[str, ...]] = {
    "translate": ("bahdanau", "lstmn", "luong", "seq2seq", "simple_attention", "transformer", "bidirectional"),
    "language_model": ("char_rnn", "language_model", "lstmn_lm", "pointer_lm", "transformer_lm"),
    "masked_language_model": ("bert",),
    "classify": ("acceptor",),
    "tag": ("transducer",),
    "answer": ("memory_network",),
    "bits": ("ntm", "rnn"),
    "nodes": ("gat",),
    "recall": ("memory_transformer",),
    "spans": ("span_reader",),
}
"""What a task can be learned by."""
