"""The section `model` of a recipe: one class a kind, with the arguments of its constructor and what must fit together.

Whoever gets something wrong here hears of it before PyTorch is imported.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipes.attention_section import Attention, PastSection, Share, Size, check_identity, named
from regard.recipes.encoder_sections import (
    GRU,
    LSTM,
    BertEncoderSection,
    CellsSection,
    Elman,
    Encoder,
    PlacedSection,
    RNNEncoderSection,
    Scale,
    of_kind,
)
from regard.recipes.section import Section
from regard.shapes import directions_halve, draws_are_rewarded, embeddings_tie, shifts_balance, shifts_fit


class Model(Section):
    """What all models have in common."""

    def arguments(self) -> dict[str, Any]:
        """What was said of it as plain values, `kind` left out, and null too, which leaves all to the constructor."""
        return self.model_dump(exclude_unset=True, exclude_none=True, exclude={"kind"})


class RNNSection(Model):
    """What recurrent encoder-decoders have in common."""

    embedding_dim: Size = 256
    """Width of the embeddings."""
    hidden_dim: Size = 512
    """Width of the layers."""
    dropout: Share = 0.0
    """On embeddings, encoder states and what the output layer reads."""
    scale: Scale = 0.1
    """The largest entry of an embedding at first; of few symbols, such as characters, 1 learns sooner."""


class BahdanauSection(RNNSection):
    """Bahdanau's encoder-decoder: the previous state looks, and a maxout layer says the word."""

    kind: Literal["bahdanau"]
    """Says that it is this model."""
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
            self.attention.fits(self.hidden_dim, 2 * self.hidden_dim)
        if self.tied and self.readout_dim is not None:
            embeddings_tie(self.readout_dim, self.embedding_dim)
        return self


class LuongSection(RNNSection):
    """Luong's encoder-decoder: the current state looks, and an attentional vector says the word."""

    kind: Literal["luong"]
    """Says that it is this model."""
    attention: Attention | None = None
    """How the source is read; None for the general score. Global, local-m and local-p are its aligner."""
    feeding: bool = True
    """Whether the attentional vector is fed to the next step."""
    cells: LSTM = CellsSection(kind="lstm")
    """What the layers of both are made of."""
    bidirectional: bool = False
    """Whether the encoder reads both directions, half of `hidden_dim` each."""
    tied: bool = False
    """Whether the output layer is the target embedding."""

    @model_validator(mode="after")
    def _fitting(self) -> LuongSection:
        if self.bidirectional:
            directions_halve(self.hidden_dim)
        if self.attention is not None:
            self.attention.fits(self.hidden_dim, self.hidden_dim)
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
    """What the layers of both are made of."""

    @model_validator(mode="after")
    def _fitting(self) -> SimpleAttentionSection:
        if self.attention is not None:
            self.attention.fits(self.hidden_dim, self.hidden_dim)
            if self.attention.draws:
                draws_are_rewarded(self.kind)
        return self


class Seq2SeqSection(RNNSection):
    """An encoder-decoder without attention."""

    kind: Literal["seq2seq"]
    """Says that it is this model."""
    context: Literal["state", "mapped", "input"] = "state"
    """How the source reaches the decoder: as its first state, through a map, or at every step too."""
    cells: LSTM = CellsSection(kind="lstm")
    """What the layers of both are made of."""
    bidirectional: bool = False
    """Whether the encoder reads both directions, half of `hidden_dim` each."""
    reverse: bool = False
    """Whether it reads the source from its end."""

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
    """Width of encoder and decoder."""
    fusion: Literal["deep", "shallow"] = "deep"
    """Whether what is read of the source goes into the cell or beside it."""
    tied: bool = False
    """Whether the output layer is the target embedding."""

    @model_validator(mode="after")
    def _fitting(self) -> LSTMNSection:
        if self.tied:
            embeddings_tie(self.hidden_dim * (2 if self.fusion == "shallow" else 1), self.embedding_dim)
        return self


class TransformerSection(Model, PlacedSection):
    """A Transformer of an encoder and a decoder."""

    kind: Literal["transformer"]
    """Says that it is this model."""
    tied: Literal["none", "output", "all"] = "output"
    """Whether the output layer is the target embedding, and (all) the source embedding of a joint vocabulary too."""


class MemoryTransformerSection(Model, PlacedSection):
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


class LanguageModelSection(Model):
    """A recurrent language model."""

    kind: Literal["language_model"]
    """Says that it is this model."""
    embedding_dim: Size = 200
    """Width of the embeddings."""
    hidden_dim: Size = 200
    """Width of the layers."""
    cells: LSTM = CellsSection(kind="lstm")
    """What they are made of; with `variational` the dropout here drops the same channels at all steps too."""
    dropout: Share = 0.0
    """On the embeddings and on the outputs of the uppermost layer."""
    tied: bool = False
    """Whether the output layer is the embedding."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.tied:
            embeddings_tie(self.hidden_dim, self.embedding_dim)
        return self


class PointerLMSection(LanguageModelSection):
    """A recurrent language model that may point to a word of its past instead."""

    kind: Literal["pointer_lm"]  # type: ignore[assignment]
    """Says that it is this model."""
    window: Size = 100
    """How many words back it points."""
    pairing: Literal["read", "next"] = "read"
    """The word that a state stands for: the one it had just read, or the one that came next."""


class LSTMNLMSection(Model):
    """A language model of LSTMNs."""

    kind: Literal["lstmn_lm"]
    """Says that it is this model."""
    embedding_dim: Size = 150
    """Width of the embeddings."""
    hidden_dim: Size = 300
    """Width of the layers."""
    num_layers: Size = 1
    """How many."""
    window: Size = 50
    """How many words back the tapes reach."""
    dropout: Share = 0.0
    """On the embeddings, between layers and on the outputs of the uppermost."""
    tied: bool = False
    """Whether the output layer is the embedding."""
    scale: Scale = 0.1
    """The largest entry of an embedding at first."""

    @model_validator(mode="after")
    def _fitting(self) -> LSTMNLMSection:
        if self.tied:
            embeddings_tie(self.hidden_dim, self.embedding_dim)
        return self


class CharRNNSection(Model):
    """A recurrent language model of characters, with or without attention to its own past."""

    kind: Literal["char_rnn"]
    """Says that it is this model."""
    embedding_dim: Size = 64
    """Width of the embeddings."""
    hidden_dim: Size = 256
    """Width of the layers."""
    attention: Annotated[PastSection, named("score")] | None = None
    """How its own past is looked at; None for not at all."""
    window: Size | None = None
    """How many states back it looks; None for all."""
    pairing: Literal["read", "next"] = "read"
    """What is read where a state was found: itself, or the one after it."""
    cells: LSTM = CellsSection(kind="lstm")
    """What the layers are made of."""
    dropout: Share = 0.0
    """On the embeddings and on what the output layer reads."""
    scale: Scale = 1.0
    """The largest entry of an embedding at first."""

    @model_validator(mode="after")
    def _fitting(self) -> CharRNNSection:
        if self.attention is not None:
            check_identity(self.attention.score, self.hidden_dim)
        return self


class TransformerLMSection(Model, PlacedSection):
    """A language model of a Transformer's decoder alone."""

    kind: Literal["transformer_lm"]
    """Says that it is this model."""
    tied: bool = True
    """Whether the output layer is the embedding."""


class BertSection(Model):
    """BERT with its heads, to be pretrained."""

    kind: Literal["bert"]
    """Says that it is this model."""
    encoder: BertEncoderSection = BertEncoderSection()
    """The layers that read."""
    next_sentence: bool = False
    """Whether it learns too if the second part of a text follows the first."""

    @model_validator(mode="after")
    def _summed(self) -> BertSection:
        if self.next_sentence and not self.encoder.pooled:
            raise ValueError("next_sentence looks at the pooled summary of a text; set pooled of the encoder to true")
        return self


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
    dropout: Share = 0.0
    """On the states."""
    word_dropout: float = Field(0.0, ge=0, le=1)
    """How often a word becomes unknown in training."""


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
