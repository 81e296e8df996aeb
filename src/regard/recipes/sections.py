"""What stands in a recipe, section by section. Each key has a type, a default and a sentence."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_type_hints

from pydantic import BeforeValidator, Field, create_model, field_validator, model_validator

from regard.decode.search import Search
from regard.recipes.data_sections import TWO_TEXTS, DataSection
from regard.recipes.duration import seconds
from regard.recipes.files import DataFile
from regard.recipes.model_sections import ModelSection
from regard.recipes.section import Section
from regard.recipes.target_section import TARGET_METRICS, TargetData
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


Task = Literal[
    "translate",
    "language_model",
    "masked_language_model",
    "classify",
    "tag",
    "answer",
    "bits",
    "nodes",
    "recall",
    "spans",
]
DEFAULT_METRICS: dict[Task, list[str | dict[str, Any]]] = {
    "translate": ["bleu"],
    "language_model": [],
    "masked_language_model": [],
    "classify": ["accuracy"],
    "tag": ["accuracy"],
    "answer": ["accuracy"],
    "bits": ["exact_match"],
    "recall": ["exact_match"],
    "spans": ["squad_f1", "squad_exact"],
    "nodes": ["accuracy"],
}

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


class HardSection(Section):
    """How hard attention learns where to look, by the score-function estimator."""

    reward: float = Field(1.0, ge=0)
    """The weight of the reward, log p of the right words less its mean."""
    entropy: float = Field(0.01, ge=0)
    """The weight of the entropy, which keeps it from settling too soon."""


class MaskingSection(Section):
    """Which words are hidden from a model that learns to fill them in."""

    share: float = Field(0.15, gt=0, le=1)
    """Of the words of a text, at least one: what the model is asked for."""
    masked: float = Field(0.8, ge=0, le=1)
    """Of those, what becomes `<mask>`."""
    random: float = Field(0.1, ge=0, le=1)
    """Of those, what becomes any word; the rest stays as it is."""
    whole_words: bool = False
    """Whether all pieces of a word are hidden with it."""

    @model_validator(mode="after")
    def _shares(self) -> MaskingSection:
        if self.masked + self.random > 1:
            raise ValueError(f"masked {self.masked:g} and random {self.random:g} are shares of 1, and together more")
        return self


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
    hard: HardSection = HardSection()
    """How hard attention learns where to look; other attention has no use for it."""
    masking: MaskingSection = MaskingSection()
    """Which words are hidden; of the task masked_language_model."""
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
    """Names of metrics; options in a mapping: `{bleu: {tokenize: none}}`. None for BLEU of translations, accuracy of
    labels and tags; language models have perplexity."""
    select: str | list[str] | None = None
    """What decides which model is best: `loss` or one of the metrics; None for `loss` of texts, the first metric of
    labels and tags. Several, `[accuracy, loss]`, decide together: the best is at least as good as all before it in each
    of them, and patience begins anew with one that is so in any; None for these two of nodes."""
    examples: int = Field(4, ge=0)
    """How many predictions are shown at the end."""
    group: bool = False
    """Whether equal sources are asked once, with all their targets as references: pronunciations of a word."""
    rows: int = Field(1, ge=1)
    """Of a language model with `window`: rows that a text is measured in. 1 is exact; more are faster, and lose the
    context at the beginning of each row."""

    def chosen(self, task: Task, target: TargetData | None = None) -> list[Metric]:
        """The metrics with their options, or those of the task and of the kind of its target."""
        from regard.evaluate.metrics import metric, told_apart  # with numpy: a tenth of a second, if only for a typo

        usual = DEFAULT_METRICS[task] if target is None else TARGET_METRICS[target.target_kind]
        given = usual if self.metrics is None else self.metrics
        if given and task in ("language_model", "masked_language_model"):
            raise ValueError("metrics compare answers with references; a language model has perplexity, leave them out")
        found: list[Metric] = []
        for entry in given:
            options = {entry: {}} if isinstance(entry, str) else entry
            for name, chosen in options.items():
                if not isinstance(chosen, dict | None):
                    raise ValueError(
                        f"the options of {name!r} are a mapping, such as {{tokenize: none}}; got {chosen!r}"
                    )
                one = metric(name, **(chosen or {}))
                if task in ("classify", "answer", "nodes") and one.compares == "labels":
                    one = metric(name, **{"whole": True, **one.options})
                if target is not None and one.compares == "label_sets":
                    one = metric(name, **{"separator": target.label_separator, **(chosen or {})})
                found.append(one)
        found = told_apart(found)
        names = [one.label for one in found]
        wanted = [] if self.select is None else [self.select] if isinstance(self.select, str) else self.select
        if self.select == [] or any(one not in ("loss", *names) for one in wanted):
            raise ValueError(f"select is {self.select!r}; it can be {', '.join(('loss', *names))}")
        return found


_UNKNOWN_WORDS: dict[str, tuple[Any, Any, str]] = {
    "unknown": (
        Literal["keep", "copy"],
        "keep",
        "What becomes of unknown words in a translation: `keep` leaves `<unk>`, `copy` puts the source word that was "
        "attended to most in its place (Luong et al. 2015). For tokenizers of words.",
    ),
    "dictionary": (
        DataFile | None,
        None,
        "A file with a source word, a tab and its translation on each line: what `copy` writes for words that are in "
        "it; None to copy them all.",
    ),
    "generate_unknown": (
        bool,
        False,
        "Of language models: whether `<unk>` may be generated, which is otherwise ruled out in any search.",
    ),
    "threshold": (
        Annotated[float, Field(gt=0, lt=1)] | Literal["tuned"],
        0.5,
        "Of target_kind labels: the probability from which on a label is part of an answer; `tuned` for the one with "
        "the best micro F1 on the validation data, found when training ends.",
    ),
    "max_text": (
        Annotated[int, Field(ge=1)],
        50_000,
        "The longest text that the model is asked, in characters; a longer one is refused, for its answer might take "
        "minutes, or more memory than there is. What a model is measured on has no such limit.",
    ),
    "memory": (
        DataFile | None,
        None,
        "Of the task recall: what answers are looked up in, a file with a text on each line, or states that `regard "
        "remember` stored; None for the facts of what is measured.",
    ),
}
"""What `decode` has beside the settings of a search."""


def _search_section() -> type[Section]:
    hints, said = get_type_hints(Search), _sentences(Search)
    fields: dict[str, Any] = {
        field.name: (hints[field.name], Field(field.default, description=said.get(field.name)))
        for field in dataclasses.fields(Search)
    }
    for name, (kind, default, sentence) in _UNKNOWN_WORDS.items():
        fields[name] = (kind, Field(default, description=sentence))
    return create_model("DecodeSection", __base__=Section, __doc__="How outputs are looked for.", **fields)


def _sentences(described: type) -> dict[str, str]:
    """What the docstring of a class says about each of its attributes."""
    listed = inspect.cleandoc(described.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w[\w, ]*): (.+(?:\n {5,}.+)*)", listed, re.MULTILINE)
    return {
        name: " ".join(f"{sentence[:1].upper()}{sentence[1:]}".split())
        for names, sentence in entries
        for name in names.split(", ")
    }


if TYPE_CHECKING:

    class DecodeSection(Section):
        """How outputs are looked for."""

        unknown: Literal["keep", "copy"] = "keep"
        dictionary: str | None = None
        generate_unknown: bool = False
        max_text: int = 50_000
        memory: str | None = None
        threshold: float | Literal["tuned"] = 0.5
else:
    DecodeSection = _search_section()


class Recipe(Section):
    """One file that says what to train, on what, and how."""

    run: str = "run"
    """The run's name: its folder is `runs/<run>`; a run that exists goes on."""
    init: Path | None = None
    """The folder of a run to begin with: its tokenizers, labels and weights; None to begin anew."""
    plugins: tuple[str, ...] = ()
    """Modules whose scores, aligners, metrics and readers have names here: `[my_module]`; beside the recipe, in the
    folder you are in, or installed."""
    task: Task = "translate"
    """What the model is trained for."""
    data: DataSection
    """What it learns from."""
    tokenizer: TokenizerSection = TokenizerSection()
    """How text becomes ids."""
    model: ModelSection
    """`kind` and the arguments of that model."""
    train: TrainSection
    """How it is trained."""
    decode: DecodeSection = Field(default_factory=DecodeSection)
    """How answers are looked for."""
    evaluate: EvaluateSection = EvaluateSection()
    """How it is measured."""

    @model_validator(mode="before")
    @classmethod
    def _answered_by_a_word(cls, given: Any) -> Any:
        """An answer is one word, so that the vocabulary of stories is of words, which only white space divides."""
        if not isinstance(given, dict) or given.get("task") != "answer":
            return given
        section = given.get("tokenizer", {"kind": "words"})
        if isinstance(section, dict) and section.get("kind") == "words" and section.get("split") is None:
            section = {**section, "split": "whitespace"}
        return {**given, "tokenizer": section}

    @field_validator("run")
    @classmethod
    def _named(cls, run: str) -> str:
        if not re.fullmatch(r"\w[\w.-]*", run):
            raise ValueError("a name of letters, digits, '.', '-' and '_', which does not begin with '.' or '-'")
        return run

    @property
    def select(self) -> tuple[str, ...]:
        """What decides which model is best, first of all the first."""
        given = self.evaluate.select
        if given is not None:
            return (given,) if isinstance(given, str) else tuple(given)
        metrics = self.metrics
        if not metrics or self.task not in ("classify", "tag", "answer", "nodes", "spans"):
            return ("loss",)
        return (metrics[0].label, "loss") if self.task == "nodes" else (metrics[0].label,)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that results are measured by."""
        return self.evaluate.chosen(self.task, self.target)

    @property
    def target(self) -> TargetData | None:
        """The keys that say what the target of a classifier is; None of other tasks."""
        return self.data if self.task == "classify" and isinstance(self.data, TargetData) else None

    @property
    def reads_pairs(self) -> bool:
        """Whether two texts can be read, with an end between: the vocabulary has a mask then, as BERT's does."""
        encoder = getattr(self.model, "encoder", None)
        return self.compares or (encoder is not None and encoder.kind == "bert")

    @property
    def spells(self) -> bool:
        """Whether the model reads words by their letters too."""
        return getattr(getattr(self.model, "encoder", None), "characters", None) is not None

    @property
    def pairs(self) -> bool:
        """Whether an example has two texts that are read as one field."""
        if self.task in TWO_TEXTS:
            return False
        return isinstance(getattr(self.data, "source", None), list) or bool(getattr(self.data, "pairs", False))

    @property
    def compares(self) -> bool:
        """Whether the model reads two texts apart, and nothing else."""
        return getattr(self.model, "pair_dim", None) is not None

    def search(self) -> Search:
        """The settings of `decode`, checked together."""
        return Search(**self.decode.model_dump(exclude=set(_UNKNOWN_WORDS)))
