"""Sections shared by all recipes. Each key has a type, a default and a description."""

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
    """Pretrained word vectors: a file name, or a mapping with options."""

    file: str
    """File in the text format of GloVe or word2vec: a word and its vector per line, with or without a header of two
    counts. `.gz` is decompressed. The file is read once, at the start of a run; checkpoints contain the vectors."""
    tuned: bool = True
    """Fine-tune the vectors; words without a vector keep the model's random initial embedding. With `false` the vectors
    are frozen, and words without a vector, including special tokens, have the zero vector."""
    unseen: bool = False
    """Add words of the file that do not occur in the training texts to the vocabulary, up to `tokenizer.size`."""


class TokenizerPart(Section):
    """Tokenizer of a text."""

    kind: Literal["characters", "words", "bpe", "unigram", "wordpiece", "file"] = "bpe"
    """Tokenizer type: the unit of a token, or `file` to load a trained tokenizer."""
    path: DataFile | None = None
    """For `file`: path of a `tokenizer.json` of the tokenizers library, or of a SentencePiece model."""
    split: Literal["punctuation", "whitespace"] | None = None
    """For `words`: `punctuation` splits at white space and separates punctuation from words, `whitespace` is for
    tokenised text. None for the default of the task, usually `punctuation`. Data that are lists of words are never
    split further."""
    size: int | None = Field(None, ge=5)
    """Maximum vocabulary size, including special tokens; None for the default of the kind. The vocabulary of
    `wordpiece` always contains all single characters, that of `bpe` all bytes."""
    min_frequency: int = Field(1, ge=1)
    """Minimum frequency of a token in the training data; rarer tokens are unknown. Not for `unigram`."""
    lowercase: bool = False
    """Convert the text to lower case before tokenisation."""
    normalise: Literal["nfc", "nfd", "nfkc", "nfkd"] | None = None
    """Unicode normal form applied before tokenisation; None for no normalisation."""
    dropout: Share = 0.0
    """For `bpe`, in training only: probability of skipping a merge, so that segmentations differ between epochs
    (BPE-dropout, Provilkov et al. 2020)."""
    vectors: VectorsSection | None = None
    """For `words`: pretrained word vectors that initialise the embeddings; None for random initial values."""

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
        """Check that a tokenizer loaded from a file has a path and no training options."""
        if self.path is None:
            raise ValueError("kind 'file' needs a path: a tokenizer.json, or a SentencePiece model")
        for name in ("size", "min_frequency", "lowercase", "normalise"):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(
                    f"'{name}' is for vocabularies that are learned; that of kind 'file' is as it stands there"
                )


class TokenizerSection(TokenizerPart):
    """Tokenizers of source and target: separate vocabularies by default, or one joint vocabulary."""

    joint: bool = False
    """Learn one vocabulary from source and target together."""
    target: TokenizerPart | None = None
    """Tokenizer settings of the target; None for the settings of the source."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.joint and self.target is not None:
            raise ValueError("'joint' is one vocabulary for both, and 'target' another for the target; set one of them")
        return self


class BatchSection(Section):
    """Batch size of an update, summed over all processes."""

    tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens per batch, including padding, source and target together."""
    sentences: int | None = Field(None, ge=1)
    """Maximum number of examples per batch; with `window`, the number of parallel rows that the text is divided
    into."""
    window: int | None = Field(None, ge=1)
    """Window length in tokens (truncated backpropagation through time). Language models concatenate all texts and
    process this many tokens per row and batch, carrying the recurrent state over. Masked language models split the
    concatenated texts into windows of this length, at different offsets in each epoch."""
    accumulate: int = Field(1, ge=1)
    """Number of batches per update (gradient accumulation)."""

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
    """Optimizer. `nt_asgd` is `sgd` with weight averaging that a non-monotone criterion triggers (Merity et al.
    2018)."""
    rate: float = Field(1e-3, gt=0, le=1e20)
    """Base learning rate; `train.schedule` multiplies it by a factor per update."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """For `adam` and `adamw`: decay rates of the first and second moment."""
    eps: float = Field(1e-8, gt=0)
    """For `rmsprop`, `adam` and `adamw`: added to the denominator for numerical stability."""
    decay: Share = 0.95
    """For `rmsprop`: decay rate of the running means of the gradient and its square."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """For `sgd`, `nt_asgd` and `rmsprop`: momentum."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay: an L2 term in the gradient (`sgd`, `nt_asgd`, `rmsprop`, `adam`), or decoupled (`adamw`)."""
    interval: int = Field(5, ge=1)
    """For `nt_asgd`: non-monotone interval n. Averaging starts after a validation that is worse than the best one, not
    counting the n validations before it."""


class ScheduleSection(Section):
    """Learning rate schedule; see `regard.train.schedule`."""

    name: Literal["constant", "noam", "inverse_sqrt", "cosine", "steps", "plateau"] = "constant"
    """Schedule: factor of the learning rate as a function of the update."""
    warmup: int = Field(0, ge=0)
    """Number of updates of linear warm-up; 0 for none, which means 4000 for `noam` and `inverse_sqrt`."""
    dim: int = Field(512, ge=1)
    """For `noam`: model width d; the factor is proportional to d^-0.5."""
    floor: float = Field(0.0, ge=0, le=1)
    """For `cosine`: factor of the learning rate at the last update."""
    start: int = Field(1, ge=1)
    """For `steps`: first update at which the rate decays."""
    every: int = Field(1000, ge=1)
    """For `steps`: number of updates between two decays."""
    decay: float = Field(0.5, gt=0, le=1)
    """For `steps` and `plateau`: factor of the learning rate at each decay."""
    patience: int = Field(2, ge=0)
    """For `plateau`: number of validations without improvement that are tolerated before a decay."""


class SamplingSection(Section):
    """Scheduled sampling: the model's own predictions replace an increasing share of the decoder's input tokens."""

    decay: Literal["exponential", "inverse_sigmoid", "linear"] = "inverse_sigmoid"
    """Decay of the probability ε of feeding the gold token, as a function of the update i."""
    k: float = Field(1000.0, gt=0)
    """Decay parameter k: ε = k^i with k < 1 (`exponential`), k / (k + exp(i / k)) with k ≥ 1 (`inverse_sigmoid`), or c
    - k i (`linear`)."""
    c: float = 1.0
    """For `linear`: initial value c of ε."""
    floor: float = Field(0.0, ge=0, le=1)
    """Lower bound of ε."""

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
    """Remedies for exposure bias: perturbations of the decoder's input tokens during training."""

    sampling: SamplingSection | None = None
    """Scheduled sampling; None for teacher forcing, which feeds gold tokens only."""
    word_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability of replacing a decoder input token by the unknown token."""
    corruption: float = Field(0.0, ge=0, lt=1)
    """Probability of replacing a decoder input token by a random token of the vocabulary."""


class TrainSection(Section):
    """Training, for a fixed number of updates or a fixed time."""

    steps: int | None = Field(None, ge=1)
    """Number of updates; None if `minutes` is set."""
    minutes: float | None = Field(None, gt=0, le=1e6)
    """Training time in minutes, including validations. The number of updates is derived once, from the speed of the
    first updates, and the schedule ends with the last one. None if `steps` is set."""
    seed: int = Field(0, ge=0, lt=2**32)
    """Random seed of the initial parameters, the batch order, dropout and sampling."""
    batch: BatchSection = BatchSection(tokens=4096)
    """Batch size."""
    optimizer: OptimizerSection = OptimizerSection()
    """Optimizer."""
    schedule: ScheduleSection = ScheduleSection()
    """Learning rate schedule."""
    exposure: ExposureSection = ExposureSection()
    """Remedies for exposure bias."""
    clip: float | None = Field(1.0, gt=0)
    """Maximum norm of the gradient, over all parameters together; None for no clipping."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Label smoothing ε in the training loss; validation losses are not smoothed."""
    r_drop: float = Field(0.0, ge=0)
    """R-Drop (Liang et al. 2021): weight α of the KL divergence between two forward passes of a batch with different
    dropout masks. 0 disables it. An update takes twice as long."""
    class_weights: Literal["balanced"] | dict[str, Annotated[float, Field(ge=0)]] | None = None
    """Weight per class in the training loss, for labels, tags and nodes. `balanced` is N / (C n_c); in a mapping such
    as `{spam: 5}`, classes that are not listed have weight 1."""
    freeze: tuple[str, ...] = ()
    """Modules or parameters that are not trained, by name: `[encoder]` to freeze the encoder of a pretrained run,
    `[attention]` to keep the random initial attention."""
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    """Precision of the computation: `tf32` rounds the factors of matrix products on a GPU, `bfloat16` is automatic
    mixed precision. Parameters are always float32."""
    cuda_graphs: bool = True
    """Capture updates in CUDA graphs, on a single GPU, if the model supports it and is limited by the speed of
    Python."""
    gradient_checkpointing: bool = False
    """Recompute the activations of Transformer layers in the backward pass. The gradients are equal; an update needs
    far less memory and a third to a half more time."""
    sharding: Literal["none", "full"] = "none"
    """With several processes, `full` shards parameters, gradients and optimizer state (FSDP); `none` replicates
    them."""
    log_every: int = Field(50, ge=1)
    """Number of updates between two log entries of the training loss."""
    valid_every: int = Field(500, ge=1)
    """Number of updates between two validations."""
    checkpoint_every: int | str = 500
    """Number of updates between two checkpoints, or a duration: `90s`, `5m`, `1h`. With a number of updates, a
    checkpoint is saved at least every five minutes."""
    patience: int | None = Field(None, ge=1)
    """Early stopping after this many validations without improvement; None for no early stopping."""
    average: int = Field(1, ge=1)
    """Number of last checkpoints whose weights are averaged into the final model; with 1, the final model is the best
    one by `evaluate.select`."""
    trackers: Annotated[
        tuple[Tracker, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
    ] = ()
    """Experiment trackers in addition to `metrics.jsonl`: Weights & Biases, MLflow, Trackio, TensorBoard. Each needs
    the optional dependency of its name, such as `regard[wandb]`."""

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
        """Number of updates. With `minutes` it is unknown until the run has started."""
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
        """Updates between two checkpoints; None if the interval is a duration."""
        return None if isinstance(self.checkpoint_every, str) else self.checkpoint_every

    @property
    def checkpoint_seconds(self) -> float:
        """Maximum number of seconds between two checkpoints."""
        return seconds(self.checkpoint_every) if isinstance(self.checkpoint_every, str) else 300.0


class EvaluateSection(Section):
    """Evaluation."""

    metrics: list[str | dict[str, Any]] | None = None
    """Metrics by name; options are given in a mapping: `{bleu: {tokenize: none}}`. None for the default metrics of the
    task."""
    select: str | list[str] | None = None
    """Criterion for the best model: `loss` or a metric; None for the default of the task. With several criteria, such
    as `[accuracy, loss]`, a model is kept if it is at least as good as all earlier ones in each of them, and patience
    restarts if it is in any of them."""
    examples: int = Field(4, ge=0)
    """Number of predictions printed at the end of training."""
    rows: int = Field(1, ge=1)
    """For language models with `window`: number of parallel rows that the evaluated text is divided into. 1 is exact;
    more rows are faster, but each row starts without context."""

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """Criteria for the best model, as a tuple of names; None for the default."""
        return None if self.select is None else (self.select,) if isinstance(self.select, str) else tuple(self.select)


class DecodeSection(Section):
    """Decoding: search for outputs, and the maximum input length."""

    max_text: int = Field(50_000, ge=1)
    """Maximum length of an input of `predict`, in characters. Longer inputs are rejected, because they may take minutes
    or run out of memory. Evaluation has no such limit."""


def _settings() -> dict[str, Any]:
    """Return the fields of `Search` as keys, described by the entries of its docstring."""
    hints, said = get_type_hints(Search), entries(inspect.getdoc(Search) or "")
    return {
        field.name: (hints[field.name], Field(field.default, description=said.get(field.name)))
        for field in dataclasses.fields(Search)
    }


def decode_section(own: type[Section] | None) -> type[DecodeSection]:
    """Return the section `decode` of a system: the search settings, the system's own keys and the shared ones."""
    bases: Any = (DecodeSection,) if own is None else (own, DecodeSection)
    made = create_model("DecodeSection", __base__=bases, __doc__=DecodeSection.__doc__, **_settings())
    return cast("type[DecodeSection]", made)


class Recipe(Section):
    """Recipe: the data, model, training and evaluation of a run, in one file.

    Each system has a subclass with its own sections `data`, `model`, `train`, `decode` and `evaluate`
    (`regard.recipes.schema`).
    """

    run: str = "run"
    """Name of the run. Its folder is `runs/<run>`; if the folder exists, training resumes from its last checkpoint."""
    init: Path | None = None
    """Folder of a pretrained run whose tokenizers, labels and weights initialise this one; None to train from
    scratch."""
    plugins: tuple[str, ...] = ()
    """Python modules with custom scores, aligners, metrics, readers and systems: `[my_module]`. They are imported from
    the folder of the recipe, the working directory, or the installed packages."""
    task: str
    """Task: the name of a system."""
    data: SerializeAsAny[DataSection]
    """Data."""
    tokenizer: TokenizerSection = TokenizerSection()
    """Tokenizer."""
    model: SerializeAsAny[Model]
    """Model: `kind` and the arguments of its constructor."""
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
        """Criteria for the best model, the most important one first."""
        if self.evaluate.wanted is not None:
            return self.evaluate.wanted
        first = [metric.label for metric in self.metrics[:1]]
        chosen = [name for one in self.system.select for name in (first if one == "metric" else [one])]
        return tuple(chosen) or ("loss",)

    def search(self) -> Search:
        """Return the settings of `decode` as a `Search`, which checks their combination."""
        names = {field.name for field in dataclasses.fields(Search)}
        return Search(**self.decode.model_dump(include=names))
