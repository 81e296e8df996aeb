"""Sections of all recipes. Each key has a type, a default and a sentence."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast, get_type_hints

from pydantic import BeforeValidator, Field, SerializeAsAny, create_model, field_validator, model_validator

from regard.decode.search import Search
from regard.recipes.data_section import DataSection
from regard.recipes.duration import seconds
from regard.recipes.files import DataFile
from regard.recipes.section import Model, Section
from regard.recipes.source import entries
from regard.recipes.system import System, system_of
from regard.specials import SPECIALS

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric

_BYTES = 256 + len(SPECIALS)
Share = Annotated[float, Field(ge=0, lt=1)]


class TokenizerPart(Section):
    """How text is cut into tokens."""

    kind: Literal["characters", "words", "bpe", "unigram", "wordpiece", "file"] = "bpe"
    """What a token is; `file` is a tokenizer that others have trained."""
    path: DataFile | None = None
    """Of file: a `tokenizer.json` of the tokenizers library, or a SentencePiece model."""
    split: Literal["punctuation", "whitespace"] | None = None
    """Of words: `punctuation` cuts punctuation off words, `whitespace` is for text that is tokenised already; None for
    `punctuation`, and `whitespace` of the task answer. Words that the data give one by one are never cut. Other kinds
    have no use for it."""
    size: int | None = Field(None, ge=5)
    """The most tokens of the vocabulary, special ones included; None for the kind's own choice. Single characters are
    all kept by wordpiece, and all bytes by bpe."""
    min_frequency: int = Field(1, ge=1)
    """Rarer ones are unknown; not of unigram."""
    lowercase: bool = False
    """Whether text is lower-cased first."""
    normalise: Literal["nfc", "nfd", "nfkc", "nfkd"] | None = None
    """The Unicode form that text is brought to first; None leaves it."""
    dropout: Share = 0.0
    """Of bpe, and in training only: how often a merge is left out, so that words are cut in other ways in each epoch
    (BPE-dropout, Provilkov et al. 2020)."""

    @model_validator(mode="after")
    def _able(self) -> Self:
        if self.kind == "file":
            self._check_file()
        elif self.dropout and self.kind != "bpe":
            raise ValueError(f"'dropout' leaves out merges of kind 'bpe'; the kind is {self.kind!r}")
        elif self.path is not None:
            raise ValueError(f"'path' is for kind 'file'; the kind is {self.kind!r}")
        if self.kind == "bpe" and self.size is not None and self.size < _BYTES:
            raise ValueError(f"'size' is {self.size}; bpe has all bytes and the special tokens, {_BYTES} and more")
        if self.kind == "unigram" and self.min_frequency > 1:
            raise ValueError("'min_frequency' is not for unigram, which drops what is least likely; set its size")
        return self

    def _check_file(self) -> None:
        """A tokenizer of a file is what it is."""
        if self.path is None:
            raise ValueError("kind 'file' needs a path: a tokenizer.json, or a SentencePiece model")
        for name in ("size", "min_frequency", "lowercase", "normalise"):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(
                    f"'{name}' is for vocabularies that are learned; that of kind 'file' is as it stands there"
                )


class TokenizerSection(TokenizerPart):
    """The same for source and target, unless `target` says otherwise; `joint` learns one vocabulary from both."""

    joint: bool = False
    """One vocabulary, learned from both sides."""
    target: TokenizerPart | None = None
    """Another tokenizer for the target; None for one of the same kind."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.joint and self.target is not None:
            raise ValueError("'joint' is one vocabulary for both, and 'target' another for the target; set one of them")
        return self


class BatchSection(Section):
    """How large an update is, whatever the number of processes."""

    tokens: int | None = Field(None, ge=1)
    """The most padded tokens, source and target together."""
    sentences: int | None = Field(None, ge=1)
    """The most examples; with `window`, the rows that a text is read in side by side."""
    window: int | None = Field(None, ge=1)
    """Of a language model: read all texts as one, so many tokens of each row at a time, and carry the state on. Of a
    masked one: cut all texts as one into so many tokens each, anew in each epoch."""
    accumulate: int = Field(1, ge=1)
    """Batches that make up one update."""

    @model_validator(mode="after")
    def _bounded(self) -> BatchSection:
        if self.window is not None and (self.sentences is None or self.tokens is not None):
            raise ValueError("a window needs sentences, the number of rows, and no tokens")
        if self.tokens is None and self.sentences is None:
            raise ValueError("set tokens or sentences")
        return self


Tracker = Literal["wandb", "mlflow", "trackio", "tensorboard"]


class OptimizerSection(Section):
    """What makes steps of gradients."""

    name: Literal["sgd", "rmsprop", "adam", "adamw"] = "adam"
    """The rule."""
    rate: float = Field(1e-3, gt=0, le=1e20)
    """The learning rate, which the schedule multiplies."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """Of adam and adamw: decay of both moments."""
    eps: float = Field(1e-8, gt=0)
    """Of rmsprop, adam and adamw."""
    decay: Share = 0.95
    """Of rmsprop: decay of the mean gradient and of the mean square."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """Of sgd and rmsprop."""
    weight_decay: float = Field(0.0, ge=0)
    """Decay of the weights: of the gradient (sgd, rmsprop, adam) or decoupled from it (adamw)."""


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
    """k of ε = k^i (below 1), k / (k + exp(i / k)) (at least 1) or c - k i."""
    c: float = 1.0
    """c of the linear decay."""
    floor: float = Field(0.0, ge=0, le=1)
    """The least ε."""

    @model_validator(mode="after")
    def _falling(self) -> SamplingSection:
        if self.decay == "exponential" and self.k >= 1:
            raise ValueError(f"the exponential decay k^i falls with a k below 1, such as 0.999; k is {self.k:g}")
        if self.decay == "linear" and self.k >= self.c:
            raise ValueError(
                f"the linear decay c - k i would be over at the first update; it has a small k, such as 0.0001; "
                f"k is {self.k:g}"
            )
        if self.decay == "inverse_sigmoid" and self.k < 1:
            raise ValueError(f"the inverse sigmoid has a k of at least 1, such as 1000; k is {self.k:g}")
        return self


class ExposureSection(Section):
    """Remedies for exposure bias, on the words that are fed to the decoder."""

    sampling: SamplingSection | None = None
    """Feed the model's own words; None for the right ones."""
    word_dropout: float = Field(0.0, ge=0, lt=1)
    """How often a word that is fed becomes unknown."""
    corruption: float = Field(0.0, ge=0, lt=1)
    """How often a word that is fed becomes a random one."""


class TrainSection(Section):
    """How the model is trained: for `steps` updates, or for some `minutes`."""

    steps: int | None = Field(None, ge=1)
    """Updates; None where `minutes` says how long to train."""
    minutes: float | None = Field(None, gt=0, le=1e6)
    """How long to train, validations included: so many updates as fit, counted once by the speed at the beginning; the
    schedule ends with the last of them. None where `steps` says how many they are."""
    seed: int = Field(0, ge=0, lt=2**32)
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
    class_weights: Literal["balanced"] | dict[str, Annotated[float, Field(ge=0)]] | None = None
    """Of labels, tags and nodes: the factor of each class in the training loss. `balanced` is N / (C n_c), so that rare
    classes count as much as frequent ones; or a mapping `{spam: 5}`, with 1 for other labels."""
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    """tf32 lets a GPU round the factors of products, bfloat16 computes in half precision where that is safe; parameters
    stay float32."""
    cuda_graphs: bool = True
    """Whether one GPU records updates as CUDA graphs, where it would wait for Python and where they can be."""
    gradient_checkpointing: bool = False
    """Whether layers of Transformers compute their activations again in the backward pass: the same gradients, far less
    memory, a third to a half more time."""
    sharding: Literal["none", "full"] = "none"
    """Of several processes: full divides parameters, gradients and the optimizer's moments among them, none copies."""
    log_every: int = Field(50, ge=1)
    """Updates between two rows of the training loss."""
    valid_every: int = Field(500, ge=1)
    """Updates between two validations."""
    checkpoint_every: int | str = 500
    """Updates between two checkpoints, and five minutes at most; or a time alone: `90s`, `5m`, `1h`."""
    patience: int | None = Field(None, ge=1)
    """Stop after so many validations without improvement; None for never."""
    average: int = Field(1, ge=1)
    """How many of the last checkpoints are averaged for the final model; 1 takes the best one instead."""
    trackers: Annotated[
        tuple[Tracker, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
    ] = ()
    """What is told of each measurement beside `metrics.jsonl`: Weights & Biases, MLflow, Trackio, TensorBoard; each
    needs the extra of its name, `regard[wandb]`."""

    @field_validator("class_weights", mode="before")
    @classmethod
    def _by_class(cls, given: Any) -> Any:
        named = isinstance(given, dict) and all(
            type(weight) in (int, float) and weight >= 0 for weight in given.values()
        )
        if given is None or given == "balanced" or named:
            return given
        raise ValueError("it should be balanced, or a number of at least 0 for each label, such as {spam: 5}")

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        if (self.steps is None) == (self.minutes is None):
            raise ValueError("set steps, how many updates, or minutes, how long to train; one of them")
        return self

    @property
    def updates(self) -> int:
        """How many updates there are; where `minutes` was given, a run knows once it has begun."""
        if self.steps is None:
            raise ValueError("train.minutes says how long to train, and how many updates that is shows in training")
        return self.steps

    @field_validator("checkpoint_every", mode="before")
    @classmethod
    def _interval(cls, value: object) -> object:
        if isinstance(value, str):
            seconds(value)
        elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{value!r} is neither a number of updates nor a time; write 500, or 5m")
        return value

    @model_validator(mode="after")
    def _averaged(self) -> Self:
        if self.average > 1 and isinstance(self.checkpoint_every, str):
            raise ValueError(
                "'average' takes checkpoints a fixed number of updates apart; give checkpoint_every such a number"
            )
        return self

    @property
    def checkpoint_updates(self) -> int | None:
        """Updates between two checkpoints; None where time alone decides."""
        return None if isinstance(self.checkpoint_every, str) else self.checkpoint_every

    @property
    def checkpoint_seconds(self) -> float:
        """Seconds between two checkpoints at most."""
        return seconds(self.checkpoint_every) if isinstance(self.checkpoint_every, str) else 300.0


class EvaluateSection(Section):
    """How results are measured."""

    metrics: list[str | dict[str, Any]] | None = None
    """Names of metrics; options in a mapping: `{bleu: {tokenize: none}}`. None for those of the task: BLEU of
    translations, accuracy of labels and tags; language models have perplexity."""
    select: str | list[str] | None = None
    """What decides which model is best: `loss` or one of the metrics; None for `loss` of texts, the first metric of
    labels and tags. Several, `[accuracy, loss]`, decide together: the best is at least as good as all before it in each
    of them, and patience begins anew with one that is so in any; None for these two of nodes."""
    examples: int = Field(4, ge=0)
    """How many predictions are shown at the end."""
    rows: int = Field(1, ge=1)
    """Of a language model with `window`: rows that a text is measured in. 1 is exact; more are faster, and lose the
    context at the beginning of each row."""

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """The names that decide which model is best; None where nothing is said."""
        return None if self.select is None else (self.select,) if isinstance(self.select, str) else tuple(self.select)


class DecodeSection(Section):
    """How outputs are looked for: the settings of a search, and how long an input may be."""

    max_text: int = Field(50_000, ge=1)
    """The longest text that the model is asked, in characters; a longer one is refused, for its answer might take
    minutes, or more memory than there is. What a model is measured on has no such limit."""


def _settings() -> dict[str, Any]:
    """The fields of a search as keys, with the sentences of its docstring."""
    hints, said = get_type_hints(Search), entries(inspect.getdoc(Search) or "")
    return {
        field.name: (hints[field.name], Field(field.default, description=said.get(field.name)))
        for field in dataclasses.fields(Search)
    }


def decode_section(own: type[Section] | None) -> type[DecodeSection]:
    """Return the section `decode` of a system: a search, its own keys, and those of all."""
    bases: Any = (DecodeSection,) if own is None else (own, DecodeSection)
    made = create_model("DecodeSection", __base__=bases, __doc__=DecodeSection.__doc__, **_settings())
    return cast("type[DecodeSection]", made)


class Recipe(Section):
    """One file that says what to train, on what, and how.

    The recipes of a system are of a subclass with its own sections `data`, `model`, `train`, `decode` and `evaluate`
    (`regard.recipes.schema`).
    """

    run: str = "run"
    """The run's name: its folder is `runs/<run>`; a run that exists goes on."""
    init: Path | None = None
    """The folder of a run to begin with: its tokenizers, labels and weights; None to begin anew."""
    plugins: tuple[str, ...] = ()
    """Modules whose scores, aligners, metrics, readers and systems have names here: `[my_module]`; beside the recipe,
    in the folder you are in, or installed."""
    task: str
    """What the model is trained for."""
    data: SerializeAsAny[DataSection]
    """What it learns from."""
    tokenizer: TokenizerSection = TokenizerSection()
    """How text becomes ids."""
    model: SerializeAsAny[Model]
    """`kind` and the arguments of that model."""
    train: TrainSection
    """How it is trained."""
    decode: DecodeSection
    """How answers are looked for."""
    evaluate: EvaluateSection = EvaluateSection()
    """How it is measured."""

    @field_validator("run")
    @classmethod
    def _named(cls, run: str) -> str:
        if not re.fullmatch(r"\w[\w.-]*", run):
            raise ValueError("a name of letters, digits, '.', '-' and '_', which does not begin with '.' or '-'")
        return run

    @property
    def system(self) -> System:
        """The system of the task."""
        return system_of(self.task)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that results are measured by."""
        from regard.recipes.metrics import chosen_metrics

        return chosen_metrics(self)

    @property
    def select(self) -> tuple[str, ...]:
        """What decides which model is best, the first name first."""
        if self.evaluate.wanted is not None:
            return self.evaluate.wanted
        first = [metric.label for metric in self.metrics[:1]]
        chosen = [name for one in self.system.select for name in (first if one == "metric" else [one])]
        return tuple(chosen) or ("loss",)

    @property
    def reads_pairs(self) -> bool:
        """Whether two texts can be read, with an end between: the vocabulary has a mask then, as BERT's does."""
        encoder = getattr(self.model, "encoder", None)
        return self.compares or (encoder is not None and encoder.kind == "bert")

    @property
    def compares(self) -> bool:
        """Whether the model reads two texts apart, and nothing else."""
        return getattr(self.model, "pair_dim", None) is not None

    @property
    def spells(self) -> bool:
        """Whether the model reads words by their letters too."""
        return getattr(getattr(self.model, "encoder", None), "characters", None) is not None

    @property
    def pairs(self) -> bool:
        """Whether an example has two texts that are read as one field."""
        if self.system.two_texts is not None:
            return False
        return isinstance(getattr(self.data, "source", None), list) or bool(getattr(self.data, "pairs", False))

    def search(self) -> Search:
        """Return the settings of `decode` as a search, checked together."""
        names = {field.name for field in dataclasses.fields(Search)}
        return Search(**self.decode.model_dump(include=names))
