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
    """Says that it is this kind of data."""
    train_size: int = Field(20000, ge=1)
    """How many dates to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many dates to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many dates to test on; no date and no format of them is learned from."""
    seed: int = 0
    """Another seed, other dates."""
    languages: list[str] | None = None
    """Which ones; None for all of them."""


class DigitsData(Section):
    """Sequences of digits to copy, reverse or sort; made on the spot."""

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


class PairFiles(Section):
    """Two files with as many lines, source and target."""

    source: str
    """The file that is read from."""
    target: str
    """The file with what is to be written."""


class Files(Section):
    """What all data that lies in files has in common."""

    root: Path | None = None
    """The folder that the file names below are in; None for the folder you are in."""
    encoding: str = "utf-8"
    """How the files are encoded; anything Python knows."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Whether a line that cannot be read ends the run, by name, or is left out and counted."""


class PairsData(Files):
    """Pairs of text files, line by line; `.gz` is read as it is."""

    format: Literal["pairs"]
    """Says that it is this kind of data."""
    train: PairFiles
    """The files to learn from."""
    valid: PairFiles
    """The files to validate on."""
    test: PairFiles | None = None
    """The files to test on at the end; None for no test."""


class TableData(Files):
    """Columns of a TSV or CSV file."""

    format: Literal["table"]
    """Says that it is this kind of data."""
    train: str
    """The file to learn from."""
    valid: str
    """The file to validate on."""
    test: str | None = None
    """The file to test on at the end; None for no test."""
    source: str | int = 0
    """The source's column: its number from 0, or its name in the header."""
    target: str | int = 1
    """The target's column."""
    delimiter: Literal["tab", "comma"] = "tab"
    """What stands between columns; comma reads quotes as CSV does."""
    header: bool = False
    """Whether the first line names the columns."""


class JsonlData(Files):
    """One JSON object a line."""

    format: Literal["jsonl"]
    """Says that it is this kind of data."""
    train: str
    """The file to learn from."""
    valid: str
    """The file to validate on."""
    test: str | None = None
    """The file to test on at the end; None for no test."""
    source: str = "source"
    """The key of the source."""
    target: str = "target"
    """The key of the target."""


DataSection = Annotated[DatesData | DigitsData | PairsData | TableData | JsonlData, Field(discriminator="format")]


class TokenizerPart(Section):
    """How text is cut into tokens."""

    kind: Literal["characters", "words", "bpe", "unigram"] = "bpe"
    """What a token is."""
    size: int | None = Field(None, ge=5)
    """The most tokens of the vocabulary, special ones included; None for the kind's own choice."""
    min_frequency: int = Field(1, ge=1)
    """Rarer ones are unknown."""
    lowercase: bool = False
    """Whether text is lower-cased first."""
    normalise: Literal["nfc", "nfd", "nfkc", "nfkd"] | None = None
    """The Unicode form that text is brought to first; None leaves it."""


class TokenizerSection(TokenizerPart):
    """The same for source and target, unless `target` says otherwise; `joint` learns one vocabulary from both."""

    joint: bool = False
    """One vocabulary, learned from both sides."""
    target: TokenizerPart | None = None
    """Another tokenizer for the target; None for one of the same kind."""


class BatchSection(Section):
    """How large an update is, whatever the number of processes."""

    tokens: int | None = Field(None, ge=1)
    """The most padded tokens, source and target together."""
    sentences: int | None = Field(None, ge=1)
    """The most examples."""
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
    """The rule."""
    rate: float = Field(1e-3, gt=0)
    """The learning rate, which the schedule multiplies."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """Of adam and adamw: decay of both moments."""
    eps: float = Field(1e-8, gt=0)
    """Of adam and adamw."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """Of sgd."""
    weight_decay: float = Field(0.0, ge=0)
    """Decay of the weights: of the gradient (sgd, adam) or decoupled from it (adamw)."""


class ScheduleSection(Section):
    """How the rate moves; see `regard.train.schedule`."""

    name: Literal["constant", "noam", "inverse_sqrt", "cosine", "steps", "plateau"] = "constant"
    """The rule."""
    warmup: int = Field(0, ge=0)
    """Updates of linear warm-up; 0 means 4000 for noam and inverse_sqrt."""
    dim: int = Field(512, ge=1)
    """Of noam: the model's width."""
    floor: float = Field(0.0, ge=0, le=1)
    """Of cosine: what is left at the end."""
    start: int = Field(1, ge=1)
    """Of steps: the first update that decays."""
    every: int = Field(1000, ge=1)
    """Of steps: updates between two decays."""
    decay: float = Field(0.5, gt=0, le=1)
    """Of steps and plateau: what the rate is multiplied with."""
    patience: int = Field(2, ge=0)
    """Of plateau: validations without improvement that are forgiven."""


class SamplingSection(Section):
    """Scheduled sampling: feed the model's own words more and more often."""

    decay: Literal["exponential", "inverse_sigmoid", "linear"] = "inverse_sigmoid"
    """How the probability ε of feeding the right word falls with the updates i."""
    k: float = Field(1000.0, gt=0)
    """k of ε = k^i, k / (k + exp(i / k)) or c - k i."""
    c: float = 1.0
    """c of the linear decay."""
    floor: float = Field(0.0, ge=0, le=1)
    """The least ε."""


class ExposureSection(Section):
    """Remedies for exposure bias, on the words that are fed to the decoder."""

    sampling: SamplingSection | None = None
    """Feed the model's own words; None for the right ones."""
    word_dropout: float = Field(0.0, ge=0, lt=1)
    """How often a word that is fed becomes unknown."""
    corruption: float = Field(0.0, ge=0, lt=1)
    """How often a word that is fed becomes a random one."""


class TrainSection(Section):
    """How the model is trained."""

    steps: int = Field(ge=1)
    """Updates."""
    seed: int = 0
    """Of parameters, batches and all that is random in an update."""
    batch: BatchSection = BatchSection(tokens=4096)
    """How large an update is."""
    optimizer: OptimizerSection = OptimizerSection()
    """What makes steps of gradients."""
    schedule: ScheduleSection = ScheduleSection()
    """How the learning rate moves."""
    exposure: ExposureSection = ExposureSection()
    """Remedies for exposure bias."""
    clip: float | None = Field(1.0, gt=0)
    """The largest norm of the gradient; None for no limit."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """ε of the smoothed targets; validation is never smoothed."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 computes in half precision where that is safe; parameters stay float32."""
    log_every: int = Field(50, ge=1)
    """Updates between two rows of the training loss."""
    valid_every: int = Field(500, ge=1)
    """Updates between two validations."""
    checkpoint_every: int = Field(500, ge=1)
    """Updates between two checkpoints."""
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
    """What the model is trained for."""
    data: DataSection
    """What it learns from."""
    tokenizer: TokenizerSection = TokenizerSection()
    """How text becomes ids."""
    model: dict[str, Any]
    """`kind` and the arguments of that model; see docs/models.md."""
    train: TrainSection
    """How it is trained."""
    decode: DecodeSection = Field(default_factory=DecodeSection)
    """How answers are looked for."""
    evaluate: EvaluateSection = EvaluateSection()
    """How it is measured."""

    def search(self) -> Search:
        """The settings of `decode`, checked together."""
        return Search(**self.decode.model_dump())
