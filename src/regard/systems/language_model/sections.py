"""Recipe sections of language models: models, generated data, and a key of `decode`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Section


class LanguageModelDecoding(Section):
    """Keys of `decode` for language models."""

    generate_unknown: bool = False
    """Allow `<unk>` in generated text."""


class TalesData(GeneratedData):
    """Tales of animals with made-up names, each given once and used again; generated."""

    made: ClassVar[str] = "regard.systems.language_model.tales:Tales"

    format: Literal["tales"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of tales to train on."""
    valid_size: int = Field(200, ge=1)
    """Number of tales to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of tales to test on; training has none of them."""
    names: int = Field(38416, ge=6, le=38416)
    """Number of names: with few, each is frequent; with many, almost all are new."""
    animals: int = Field(3, ge=1, le=6)
    """Number of animals in a tale, each with a name."""
    deeds: int = Field(6, ge=1)
    """Number of sentences after the introduction, each with a name."""
    seed: int = 0
    """Seed of the tales; names are fixed."""
