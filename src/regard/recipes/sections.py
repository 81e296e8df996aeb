"""What stands in a recipe, section by section. Each key has a type, a default and a sentence."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from regard.decode.search import Search
from regard.evaluate.metrics import Metric, metric


class Section(BaseModel):
    """A part of a recipe: unknown keys are errors, values are what they say they are."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class DatesData(Section):
    """Dates as people write them in many languages, to ISO dates; made on the spot from CLDR."""

    format: Literal["dates"]
    train_size: int = Field(20000, ge=1)
    valid_size: int = Field(500, ge=1)
    test_size: int = Field(1000, ge=1)
    seed: int = 0
    languages: list[str] | None = None
    """Which ones; None for all of them."""


class DigitsData(Section):
    """Sequences of digits to copy, reverse or sort; made on the spot."""

    format: Literal["digits"]
    task: Literal["copy", "reverse", "sort"] = "reverse"
    train_size: int = Field(10000, ge=1)
    valid_size: int = Field(500, ge=1)
    test_size: int = Field(500, ge=1)
    longest: int = Field(10, ge=3)
    seed: int = 0


class PairFiles(Section):
    """Two files with as many lines, source and target."""

    source: str
    target: str


class Files(Section):
    """What all data that lies in files has in common."""

    root: Path | None = None
    """The folder that the file names below are in; None for the folder you are in."""
    encoding: str = "utf-8"
    bad_lines: Literal["refuse", "skip"] = "refuse"


class PairsData(Files):
    """Pairs of text files, line by line; `.gz` is read as it is."""

    format: Literal["pairs"]
    train: PairFiles
    valid: PairFiles
    test: PairFiles | None = None


class TableData(Files):
    """Columns of a TSV or CSV file."""

    format: Literal["table"]
    train: str
    valid: str
    test: str | None = None
    source: str | int = 0
    """The source's column: its number from 0, or its name in the header."""
    target: str | int = 1
    delimiter: Literal["tab", "comma"] = "tab"
    header: bool = False


class JsonlData(Files):
    """One JSON object a line."""

    format: Literal["jsonl"]
    train: str
    valid: str
    test: str | None = None
    source: str = "source"
    target: str = "target"


DataSection = Annotated[DatesData | DigitsData | PairsData | TableData | JsonlData, Field(discriminator="format")]


class TokenizerPart(Section):
    """How text is cut into tokens."""

    kind: Literal["characters", "words", "bpe", "unigram"] = "bpe"
    size: int | None = Field(None, ge=5)
    min_frequency: int = Field(1, ge=1)
    lowercase: bool = False
    normalise: Literal["nfc", "nfd", "nfkc", "nfkd"] | None = None


class TokenizerSection(TokenizerPart):
    """The same for source and target, unless `target` says otherwise; `joint` learns one vocabulary from both."""

    joint: bool = False
    target: TokenizerPart | None = None


class BatchSection(Section):
    """How large an update is, whatever the number of processes."""

    tokens: int | None = Field(None, ge=1)
    """The most padded tokens, source and target together."""
    sentences: int | None = Field(None, ge=1)
    accumulate: int = Field(1, ge=1)
    """Batches that make up one update."""

    @model_validator(mode="after")
    def _bounded(self) -> BatchSection:
        if self.tokens is None and self.sentences is None:
            raise ValueError("set tokens or sentences")
        return self


Share = Annotated[float, Field(ge=0, lt=1)]


class OptimizerSection(Section):
    """What makes steps of gradients."""

    name: Literal["sgd", "adam", "adamw"] = "adam"
    rate: float = Field(1e-3, gt=0)
    betas: tuple[Share, Share] = (0.9, 0.999)
    eps: float = Field(1e-8, gt=0)
    momentum: float = Field(0.0, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)


class ScheduleSection(Section):
    """How the rate moves; see `regard.train.schedule`."""

    name: Literal["constant", "noam", "inverse_sqrt", "cosine", "steps", "plateau"] = "constant"
    warmup: int = Field(0, ge=0)
    dim: int = Field(512, ge=1)
    """Of noam: the model's width."""
    floor: float = Field(0.0, ge=0, le=1)
    """Of cosine: what is left at the end."""
    start: int = Field(1, ge=1)
    """Of steps: the first update that decays."""
    every: int = Field(1000, ge=1)
    decay: float = Field(0.5, gt=0, le=1)
    patience: int = Field(2, ge=0)
    """Of plateau: validations without improvement that are forgiven."""


class SamplingSection(Section):
    """Scheduled sampling: feed the model's own words more and more often."""

    decay: Literal["exponential", "inverse_sigmoid", "linear"] = "inverse_sigmoid"
    k: float = Field(1000.0, gt=0)
    c: float = 1.0
    floor: float = Field(0.0, ge=0, le=1)


class ExposureSection(Section):
    """Remedies for exposure bias, on the words that are fed to the decoder."""

    sampling: SamplingSection | None = None
    word_dropout: float = Field(0.0, ge=0, lt=1)
    corruption: float = Field(0.0, ge=0, lt=1)


class TrainSection(Section):
    """How the model is trained."""

    steps: int = Field(ge=1)
    seed: int = 0
    batch: BatchSection = BatchSection(tokens=4096)
    optimizer: OptimizerSection = OptimizerSection()
    schedule: ScheduleSection = ScheduleSection()
    exposure: ExposureSection = ExposureSection()
    clip: float | None = Field(1.0, gt=0)
    """The largest norm of the gradient; None for no limit."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    precision: Literal["float32", "bfloat16"] = "float32"
    log_every: int = Field(50, ge=1)
    valid_every: int = Field(500, ge=1)
    checkpoint_every: int = Field(500, ge=1)
    patience: int | None = Field(None, ge=1)
    """Stop after so many validations without improvement; None for never."""
    average: int = Field(1, ge=1)
    """How many of the last checkpoints are averaged for the final model; 1 takes the best one instead."""


class EvaluateSection(Section):
    """How results are measured."""

    metrics: list[str | dict[str, Any]] = ["bleu"]
    """Names of metrics; options in a mapping: `{bleu: {tokenize: none}}`."""
    select: str = "loss"
    """What decides which model is best: `loss` or one of the metrics."""
    examples: int = Field(4, ge=0)
    """How many predictions are shown at the end."""

    def chosen(self) -> list[Metric]:
        """The metrics with their options."""
        found = []
        for entry in self.metrics:
            options = {entry: {}} if isinstance(entry, str) else entry
            found += [metric(name, **(given or {})) for name, given in options.items()]
        if self.select != "loss" and self.select not in [one.name for one in found]:
            raise ValueError(f"select is {self.select!r}; it can be loss or one of the metrics")
        return found


def _search_section() -> type[Section]:
    hints = get_type_hints(Search)
    fields: dict[str, Any] = {field.name: (hints[field.name], field.default) for field in dataclasses.fields(Search)}
    return create_model("DecodeSection", __base__=Section, __doc__="How outputs are looked for.", **fields)


if TYPE_CHECKING:
    DecodeSection = Section
else:
    DecodeSection = _search_section()


class Recipe(Section):
    """One file that says what to train, on what, and how."""

    run: str = Field("run", min_length=1, pattern=r"^[\w.-]+$")
    """The run's name: its folder is `runs/<run>`; a run that exists goes on."""
    task: Literal["translate"] = "translate"
    data: DataSection
    tokenizer: TokenizerSection = TokenizerSection()
    model: dict[str, Any]
    """`kind` and the arguments of that model; see docs/models.md."""
    train: TrainSection
    decode: DecodeSection = Field(default_factory=DecodeSection)
    evaluate: EvaluateSection = EvaluateSection()

    def search(self) -> Search:
        """The settings of `decode`, checked together."""
        return Search(**self.decode.model_dump())
