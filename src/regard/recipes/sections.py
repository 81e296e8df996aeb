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
from regard.recipes.files import DataFile
from regard.recipes.section import Model, Section
from regard.recipes.source import entries
from regard.recipes.system import System, system_of
from regard.recipes.yaml_values import seconds
from regard.specials import SPECIALS

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric

_BYTES = 256 + len(SPECIALS)
Share = Annotated[float, Field(ge=0, lt=1)]


class VectorsSection(Section):
    """Pretrained word vectors: a file by its name alone, or a mapping."""

    file: str
    """GloVe's or word2vec's text format: a word and its numbers per line, with or without a first line of two counts;
    .gz is decompressed. Read once, when a run begins; the run keeps the vectors."""
    tuned: bool = True
    """Train the vectors. Words without a vector then begin as the model initialises them. Vectors that are not tuned
    stay as they are, and words without one, special tokens among them, are the zero vector."""
    unseen: bool = False
    """Also give ids to words of the file that the training texts do not have, within `tokenizer.size`."""


class TokenizerPart(Section):
    """Tokenizer of a text."""

    kind: Literal["characters", "words", "bpe", "unigram", "wordpiece", "file"] = "bpe"
    """Unit of a token; `file` loads a trained tokenizer."""
    path: DataFile | None = None
    """For `file`: a `tokenizer.json` of the tokenizers library, or a SentencePiece model."""
    split: Literal["punctuation", "whitespace"] | None = None
    """For `words`: `punctuation` separates punctuation from words, `whitespace` is for tokenised text; None for
    `punctuation`, unless the task has another default. Words that the data give one by one are never split."""
    size: int | None = Field(None, ge=5)
    """Largest vocabulary, special tokens included; None for the default of the kind. `wordpiece` keeps all single
    characters, `bpe` all bytes."""
    min_frequency: int = Field(1, ge=1)
    """Rarer tokens are unknown; not for `unigram`."""
    lowercase: bool = False
    """Lower-case the text first."""
    normalise: Literal["nfc", "nfd", "nfkc", "nfkd"] | None = None
    """Unicode normal form applied first; None for none."""
    dropout: Share = 0.0
    """For `bpe`, in training only: probability of skipping a merge, so that segmentations differ between epochs
    (BPE-dropout, Provilkov et al. 2020)."""
    vectors: VectorsSection | None = None
    """For `words`: file with pretrained vectors that the embeddings begin with; None for none."""

    @field_validator("vectors", mode="before")
    @classmethod
    def _file_alone(cls, given: Any) -> Any:
        return {"file": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _able(self) -> Self:
        if self.kind == "file":
            self._check_file()
        elif self.dropout and self.kind != "bpe":
            raise ValueError(f"'dropout' leaves out merges of kind 'bpe'; the kind is {self.kind!r}")
        elif self.path is not None:
            raise ValueError(f"'path' is for kind 'file'; the kind is {self.kind!r}")
        if self.vectors is not None and self.kind != "words":
            raise ValueError(f"'vectors' are of whole words; the kind is {self.kind!r}, set it to words")
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
    """Tokenizer of source and target; `target` gives the target its own, `joint` learns one vocabulary from both."""

    joint: bool = False
    """One vocabulary for source and target, learned from both."""
    target: TokenizerPart | None = None
    """Tokenizer of the target; None for one with the same settings."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.joint and self.target is not None:
            raise ValueError("'joint' is one vocabulary for both, and 'target' another for the target; set one of them")
        return self


class BatchSection(Section):
    """Size of an update, summed over all processes."""

    tokens: int | None = Field(None, ge=1)
    """Largest number of padded tokens in a batch, source and target together."""
    sentences: int | None = Field(None, ge=1)
    """Largest number of examples in a batch; with `window`, the number of parallel rows of the text."""
    window: int | None = Field(None, ge=1)
    """Language models: concatenate all texts and read this many tokens per row at a time, carrying the state.
    Masked language models: split the concatenated texts into windows of this many tokens, anew in each epoch."""
    accumulate: int = Field(1, ge=1)
    """Batches per update (gradient accumulation)."""

    @model_validator(mode="after")
    def _bounded(self) -> BatchSection:
        if self.window is not None and (self.sentences is None or self.tokens is not None):
            raise ValueError("a window needs sentences, the number of rows, and no tokens")
        if self.tokens is None and self.sentences is None:
            raise ValueError("set tokens or sentences")
        return self


Tracker = Literal["wandb", "mlflow", "trackio", "tensorboard"]


class OptimizerSection(Section):
    """Optimizer."""

    name: Literal["sgd", "nt_asgd", "rmsprop", "adam", "adamw"] = "adam"
    """The rule. `nt_asgd` is `sgd` whose weights are averaged from a non-monotone trigger on (Merity et al. 2018)."""
    rate: float = Field(1e-3, gt=0, le=1e20)
    """Learning rate; the schedule multiplies it."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """For `adam` and `adamw`: decay rates of both moments."""
    eps: float = Field(1e-8, gt=0)
    """For `rmsprop`, `adam` and `adamw`: added to the denominator."""
    decay: Share = 0.95
    """For `rmsprop`: decay rate of the mean gradient and the mean square."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """For `sgd`, `nt_asgd` and `rmsprop`."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay: added to the gradient (`sgd`, `nt_asgd`, `rmsprop`, `adam`) or decoupled (`adamw`)."""
    interval: int = Field(5, ge=1)
    """For `nt_asgd`: n. Averaging begins after a validation that is worse than the best of all but the last n before
    it."""


class ScheduleSection(Section):
    """Learning rate schedule; see `regard.train.schedule`."""

    name: Literal["constant", "noam", "inverse_sqrt", "cosine", "steps", "plateau"] = "constant"
    """The rule."""
    warmup: int = Field(0, ge=0)
    """Updates of linear warm-up; 0 means 4000 for `noam` and `inverse_sqrt`."""
    dim: int = Field(512, ge=1)
    """For `noam`: width of the model."""
    floor: float = Field(0.0, ge=0, le=1)
    """For `cosine`: final factor."""
    start: int = Field(1, ge=1)
    """For `steps`: first update with a decay."""
    every: int = Field(1000, ge=1)
    """For `steps`: updates between two decays."""
    decay: float = Field(0.5, gt=0, le=1)
    """For `steps` and `plateau`: factor of each decay."""
    patience: int = Field(2, ge=0)
    """For `plateau`: validations without improvement before a decay."""


class SamplingSection(Section):
    """Scheduled sampling: an increasing share of the decoder inputs are the model's own tokens."""

    decay: Literal["exponential", "inverse_sigmoid", "linear"] = "inverse_sigmoid"
    """Decay of the probability ε of a gold input token over the updates i."""
    k: float = Field(1000.0, gt=0)
    """k of ε = k^i (below 1), k / (k + exp(i / k)) (at least 1) or c - k i."""
    c: float = 1.0
    """c of the linear decay."""
    floor: float = Field(0.0, ge=0, le=1)
    """Smallest ε."""

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
    """Remedies for exposure bias: changes of the decoder's input tokens in training."""

    sampling: SamplingSection | None = None
    """Scheduled sampling; None for gold tokens only."""
    word_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability of replacing an input token by the unknown token."""
    corruption: float = Field(0.0, ge=0, lt=1)
    """Probability of replacing an input token by a random one."""


class TrainSection(Section):
    """Training: a number of updates, or of minutes."""

    steps: int | None = Field(None, ge=1)
    """Number of updates; None if `minutes` is given."""
    minutes: float | None = Field(None, gt=0, le=1e6)
    """Duration in minutes, validations included. The number of updates is fixed once from the initial speed, and the
    schedule ends with the last of them. None if `steps` is given."""
    seed: int = Field(0, ge=0, lt=2**32)
    """Seed of parameters, batches, dropout and sampling."""
    batch: BatchSection = BatchSection(tokens=4096)
    """Size of an update."""
    optimizer: OptimizerSection = OptimizerSection()
    """Optimizer."""
    schedule: ScheduleSection = ScheduleSection()
    """Learning rate schedule."""
    exposure: ExposureSection = ExposureSection()
    """Remedies for exposure bias."""
    clip: float | None = Field(1.0, gt=0)
    """Largest norm of the gradient; None for no clipping."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Label smoothing ε; validation losses are not smoothed."""
    r_drop: float = Field(0.0, ge=0)
    """R-Drop (Liang et al. 2021): each batch is read twice with different dropout, and the divergence of both outputs
    is minimised with this weight α; 0 for one reading. An update takes twice the time."""
    class_weights: Literal["balanced"] | dict[str, Annotated[float, Field(ge=0)]] | None = None
    """Labels, tags and nodes: weight per class in the training loss. `balanced` is N / (C n_c); a mapping such as
    `{spam: 5}` weights other classes 1."""
    freeze: tuple[str, ...] = ()
    """Names of modules or parameters that keep the values they begin with: `[encoder]` of a pretrained run,
    `[attention]` for weights that are not learned."""
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    """`tf32` rounds the factors of matrix products on a GPU; `bfloat16` is automatic mixed precision. Parameters stay
    float32."""
    cuda_graphs: bool = True
    """Capture updates in CUDA graphs on a single GPU, where Python limits the speed and the model allows it."""
    gradient_checkpointing: bool = False
    """Recompute activations of Transformer layers in the backward pass: equal gradients, far less memory, a third to
    a half more time."""
    sharding: Literal["none", "full"] = "none"
    """Several processes: `full` shards parameters, gradients and optimizer moments (FSDP); `none` replicates them."""
    log_every: int = Field(50, ge=1)
    """Updates between two logged training losses."""
    valid_every: int = Field(500, ge=1)
    """Updates between two validations."""
    checkpoint_every: int | str = 500
    """Updates between two checkpoints, at most five minutes; or a duration: `90s`, `5m`, `1h`."""
    patience: int | None = Field(None, ge=1)
    """Early stopping after this many validations without improvement; None for never."""
    average: int = Field(1, ge=1)
    """Number of last checkpoints averaged into the final model; 1 takes the best one instead."""
    trackers: Annotated[
        tuple[Tracker, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
    ] = ()
    """Experiment trackers beside `metrics.jsonl`: Weights & Biases, MLflow, Trackio, TensorBoard; each needs the extra
    of its name, such as `regard[wandb]`."""

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
        """Number of updates; of `minutes` a run knows it after its start."""
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
        if self.average > 1 and self.optimizer.name == "nt_asgd":
            raise ValueError(
                "'average' is of checkpoints, and the optimizer nt_asgd averages updates; leave one of them out"
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
    """Evaluation."""

    metrics: list[str | dict[str, Any]] | None = None
    """Metrics by name, with options in a mapping: `{bleu: {tokenize: none}}`. None for the defaults of the task."""
    select: str | list[str] | None = None
    """Criterion of the best model: `loss` or a metric; None for the default of the task. With several, such as
    `[accuracy, loss]`, the best model is at least as good as all earlier ones in each, and patience restarts with an
    improvement in any."""
    examples: int = Field(4, ge=0)
    """Number of predictions shown at the end."""
    rows: int = Field(1, ge=1)
    """Language models with `window`: rows of a measured text. 1 is exact; more are faster, and lose the context at the
    start of each row."""

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """Names of the criteria of the best model; None for the default."""
        return None if self.select is None else (self.select,) if isinstance(self.select, str) else tuple(self.select)


class DecodeSection(Section):
    """Search for outputs, and the longest input."""

    max_text: int = Field(50_000, ge=1)
    """Longest input of `predict` in characters; longer ones are refused, since they may take minutes or exhaust the
    memory. Evaluation has no such limit."""


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
    """Name of the run, whose folder is `runs/<run>`; an existing run resumes."""
    init: Path | None = None
    """Folder of a run to start from: its tokenizers, labels and weights; None to start from scratch."""
    plugins: tuple[str, ...] = ()
    """Modules with scores, aligners, metrics, readers and systems of your own: `[my_module]`; beside the recipe, in the
    working directory, or installed."""
    task: str
    """Task, which is the name of a system."""
    data: SerializeAsAny[DataSection]
    """Data."""
    tokenizer: TokenizerSection = TokenizerSection()
    """Tokenizer."""
    model: SerializeAsAny[Model]
    """Model: `kind` and its arguments."""
    train: TrainSection
    """Training."""
    decode: DecodeSection
    """Search."""
    evaluate: EvaluateSection = EvaluateSection()
    """Evaluation."""

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
        """Metrics of the results."""
        from regard.recipes.metrics import chosen_metrics

        return chosen_metrics(self)

    @property
    def select(self) -> tuple[str, ...]:
        """Criteria of the best model, the first one first."""
        if self.evaluate.wanted is not None:
            return self.evaluate.wanted
        first = [metric.label for metric in self.metrics[:1]]
        chosen = [name for one in self.system.select for name in (first if one == "metric" else [one])]
        return tuple(chosen) or ("loss",)

    def search(self) -> Search:
        """Return the settings of `decode` as a search, checked together."""
        names = {field.name for field in dataclasses.fields(Search)}
        return Search(**self.decode.model_dump(include=names))
