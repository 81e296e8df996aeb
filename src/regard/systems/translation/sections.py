"""Recipe sections of translation: generated data, and keys of its own in `train`, `decode` and `evaluate`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from regard.recipes.files import DataFile
from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Section


class HardSection(Section):
    """Training of hard attention by the score-function estimator."""

    reward: float = Field(1.0, ge=0)
    """The weight of the reward, log p of the right words less its mean."""
    entropy: float = Field(0.01, ge=0)
    """The weight of the entropy, which keeps it from settling too soon."""


class Training(Section):
    """Keys of `train` that belong to translation."""

    hard: HardSection = HardSection()
    """How hard attention learns where to look; other attention has no use for it."""


class Decoding(Section):
    """Keys of `decode` that belong to translation."""

    unknown: Literal["keep", "copy"] = "keep"
    """What becomes of unknown words in a translation: `keep` leaves `<unk>`, `copy` puts the source word that was
    attended to most in its place (Luong et al. 2015). For tokenizers of words."""
    dictionary: DataFile | None = None
    """A file with a source word, a tab and its translation on each line: what `copy` writes for words that are in it;
    None to copy them all."""


class Evaluating(Section):
    """Keys of `evaluate` that belong to translation."""

    group: bool = False
    """Whether equal sources are asked once, with all their targets as references: pronunciations of a word."""


class DatesData(GeneratedData):
    """Dates as people write them in many languages, to ISO dates; made on the spot from CLDR."""

    made: ClassVar[str] = "regard.systems.translation.dates:Dates"

    format: Literal["dates"]
    """Says that it is this kind of data."""
    train_size: int = Field(20000, ge=1)
    """How many dates to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many dates to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many dates to test on; no date and no format of them is learned from."""
    seed: int = 0
    """Another seed, other dates."""
    languages: list[str] | None = Field(None, min_length=1)
    """Which ones; None for all of them."""

    def check(self) -> None:
        if self.languages is not None:
            self._made(split="train", size=1, languages=tuple(self.languages))


class DigitsData(GeneratedData):
    """Sequences of digits to copy, reverse or sort; made on the spot."""

    made: ClassVar[str] = "regard.systems.translation.digits:Digits"

    format: Literal["digits"]
    """Says that it is this kind of data."""
    task: Literal["copy", "reverse", "sort"] = "reverse"
    """What to make of them."""
    train_size: int = Field(10000, ge=1)
    """How many rows to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many rows to validate on."""
    test_size: int = Field(500, ge=1)
    """How many rows to test on; none of them is learned from."""
    longest: int = Field(10, ge=3)
    """The most digits of a row; the fewest are 3."""
    seed: int = 0
    """Another seed, other rows."""
