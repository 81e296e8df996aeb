"""Recipe sections of language models: models, generated data, and a key of `decode`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.constraints import embeddings_tie
from regard.recipes.attention_section import PastSection, Share, Size, check_identity, named
from regard.recipes.encoder_sections import LSTM, CellsSection, PlacedSection, Scale
from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Model, Section


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
    scale: Scale | None = None
    """The largest entry of an embedding at first; None for 1 of characters, and 0.1 otherwise."""

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
    distances: Size | None = None
    """How many distances have an energy of their own; none in the paper."""
    dropout: Share = 0.0
    """On the embeddings, between layers and on the outputs of the uppermost."""
    tied: bool = False
    """Whether the output layer is the embedding."""
    scale: Scale | None = None
    """The largest entry of an embedding at first; None for 1 of characters, and 0.1 otherwise."""

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


class Decoding(Section):
    """Keys of `decode` that belong to language models."""

    generate_unknown: bool = False
    """Whether `<unk>` may be generated, which is otherwise ruled out in any search."""


class TalesData(GeneratedData):
    """Tales of animals with made-up names, each given once and used again; made on the spot."""

    made: ClassVar[str] = "regard.systems.language_model.tales:Tales"

    format: Literal["tales"]
    """Says that it is this kind of data."""
    train_size: int = Field(4000, ge=1)
    """How many tales to learn from."""
    valid_size: int = Field(200, ge=1)
    """How many tales to validate on."""
    test_size: int = Field(500, ge=1)
    """How many tales to test on; none of them is learned from."""
    names: int = Field(38416, ge=6, le=38416)
    """How many names there are to draw from: of few, each is met often; of many, almost all are new."""
    animals: int = Field(3, ge=1, le=6)
    """How many a tale has, each with a name."""
    deeds: int = Field(6, ge=1)
    """Sentences after the names were given, each with a name again."""
    seed: int = 0
    """Another seed, other tales; the names stay."""
