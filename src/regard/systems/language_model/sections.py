"""Recipe sections of language models: models, generated data, and a key of `decode`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Section


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
