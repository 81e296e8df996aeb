"""Recipe sections of translation: generated data, and keys of its own in `train`, `decode` and `evaluate`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import GeneratedData
from regard.recipes.files import DataFile
from regard.recipes.section import Section


class HardSection(Section):
    """Training of hard attention by the score-function estimator."""

    reward: float = Field(1.0, ge=0)
    """Weight of the reward, the log-probability of the target minus a baseline, its mean."""
    entropy: float = Field(0.01, ge=0)
    """Weight of the entropy, which delays convergence."""


class GuidedSection(Section):
    """Guided alignment: attention learns from word links (Chen et al. 2016; Garg et al. 2019)."""

    links: DataFile | None = None
    """File of links in the Pharaoh format, line n for line n of the training file; None for those of `aligner`."""
    aligner: Literal["ibm1", "diagonal", "hmm"] = "diagonal"
    """Statistical aligner that links the training pairs."""
    weight: float = Field(0.05, gt=0)
    """Weight of the cross-entropy between links and attention."""
    layer: int | None = Field(None, ge=1)
    """Layer of the decoder of a Transformer, from 1; None for the last but one."""
    head: int = Field(1, ge=1)
    """Head of multi-head attention, from 1."""
    shift: bool = False
    """Guide the attention of the step whose input is the word, after the one that predicts it."""


class TranslationTraining(Section):
    """Keys of `train` for translation."""

    hard: HardSection = HardSection()
    """REINFORCE settings of hard attention."""
    guided: GuidedSection | None = None
    """Guided alignment; None for none."""


class TranslationDecoding(Section):
    """Keys of `decode` for translation."""

    unknown: Literal["keep", "copy"] = "keep"
    """Unknown words of a translation: `keep` leaves `<unk>`, `copy` replaces it by the source word with the largest
    attention weight (Luong et al. 2015). For word tokenizers."""
    dictionary: DataFile | None = None
    """File with a source word, a tab and its translation per line, which `copy` writes for these words; None to copy
    all."""


class TranslationEvaluation(Section):
    """Keys of `evaluate` for translation."""

    group: bool = False
    """Evaluate equal sources once, with all their targets as references: pronunciations of a word."""


class DatesData(GeneratedData):
    """Dates as people write them in many languages, to ISO dates; generated from CLDR."""

    made: ClassVar[str] = "regard.systems.translation.dates:Dates"

    format: Literal["dates"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of dates to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of dates to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of dates to test on; training contains none of their dates and formats."""
    seed: int = 0
    """Seed of the dates."""
    languages: list[str] | None = Field(None, min_length=1)
    """Languages; None for all."""

    def check(self) -> None:
        if self.languages is not None:
            self._made(split="train", size=1, languages=tuple(self.languages))


class DigitsData(GeneratedData):
    """Sequences of digits to copy, reverse or sort; generated."""

    made: ClassVar[str] = "regard.systems.translation.digits:Digits"

    format: Literal["digits"]
    """Selects this format."""
    task: Literal["copy", "reverse", "sort"] = "reverse"
    """Transformation of the digits."""
    train_size: int = Field(10000, ge=1)
    """Number of rows to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of rows to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of rows to test on; training has none of them."""
    longest: int = Field(10, ge=3)
    """Largest number of digits of a row; the smallest is 3."""
    seed: int = 0
    """Seed of the rows."""


class ClausesData(GeneratedData):
    """Sentences of an invented language to those of another, which reorders words; generated, with gold links."""

    made: ClassVar[str] = "regard.systems.translation.clauses:Clauses"

    format: Literal["clauses"]
    """Selects this format."""
    train_size: int = Field(8000, ge=1)
    """Number of sentences to train on."""
    valid_size: int = Field(300, ge=1)
    """Number of sentences to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of sentences to test on; training has none of them."""
    seed: int = 0
    """Seed of the sentences."""
