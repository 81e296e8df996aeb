"""System: a task with everything that belongs to it, described without PyTorch; and how systems are discovered."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from regard.parts import system_modules
from regard.recipes.plugins import plugin_attributes
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe

MetricEntry = str | Mapping[str, Mapping[str, Any]]
Check = Callable[["Recipe"], None]
SharedKey = Literal[
    "tokenizer.joint",
    "tokenizer.target",
    "train.batch",
    "train.batch.window",
    "train.exposure.sampling",
    "train.exposure.word_dropout",
    "train.exposure.corruption",
    "train.label_smoothing",
    "train.r_drop",
    "train.class_weights",
    "decode",
    "evaluate.rows",
    "model.copy",
    "model.coverage",
    "model.encoder.characters",
    "model.encoder.feature_dim",
]
"""Keys of all recipes that mean something only to some systems; `decode` stands for the settings of a search."""


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A task with its recipe sections, data formats, metrics and recipes.

    A system is a package with an attribute `SYSTEM`: below `regard.systems`, installed under the entry point group
    `regard.systems`, or a module that a recipe names under `plugins`. It is described without PyTorch; classes that
    need PyTorch are named as "module:Class" and imported when they are used.

    Attributes:
        name: of the task, in recipes.
        task: the `Task`, "module:Class".
        data: sections of the formats that it learns from, shared ones and its own.
        models: the class of each model by `model.kind`, "module:Class"; its constructor states the keys of recipes.
        metrics: that results are measured by if a recipe names none; or a function of the recipe.
        compares: the kinds of metrics that can measure it; or a function of the recipe. None for no metrics at all.
        select: what chooses the best model if a recipe does not say: the first metric, the loss, or both in this order.
        metric_options: options that a metric gets unless a recipe gives others.
        uses: shared keys that mean something to it; in all others a recipe keeps the default.
        tokenizer: defaults of the section `tokenizer` that are its own.
        train, decode, evaluate: sections with its own keys beside the shared ones.
        checks: of sections that must fit together, by the name of the section whose line an error names.
        compares_texts: whether the model of a recipe encodes two texts separately; they come as one field with a
            separator.
        two_texts: description of two columns that are read into fields of their own, or a function of the recipe that
            returns it; None for one column, or two that are joined.
        default: whether recipes that name no task are of this one; of one system only.
        pretrains: whether its runs give their tokenizer and encoder to runs of other tasks.
        commands: of the command line, by name: "module:function".
    """

    name: str
    task: str
    data: tuple[type[Section], ...]
    models: Mapping[str, str]
    metrics: Sequence[MetricEntry] | Callable[[Recipe], Sequence[MetricEntry]] = ()
    compares: frozenset[str] | Callable[[Recipe], frozenset[str]] | None = frozenset({"texts"})
    select: tuple[Literal["metric", "loss"], ...] = ("loss",)
    metric_options: Callable[[Recipe, Metric], Mapping[str, Any]] = lambda recipe, metric: {}
    uses: frozenset[SharedKey] = frozenset()
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    train: type[Section] | None = None
    decode: type[Section] | None = None
    evaluate: type[Section] | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    compares_texts: Callable[[Recipe], bool] = lambda recipe: False
    two_texts: str | Callable[[Recipe], str | None] | None = None
    default: bool = False
    pretrains: bool = False
    commands: Mapping[str, str] = field(default_factory=dict)

    @property
    def formats(self) -> dict[str, type[Section]]:
        """The sections of its data by `data.format`."""
        return {format_of(section): section for section in self.data}

    def reads_pairs(self, recipe: Recipe) -> bool:
        """Return whether a model can read two texts with a separator: its vocabulary has a mask token, as BERT's."""
        encoder = getattr(recipe.model, "encoder", None)
        return self.compares_texts(recipe) or (encoder is not None and encoder.kind == "bert")

    def joins_texts(self, recipe: Recipe) -> bool:
        """Return whether an example has two texts that are read as one field."""
        return self.two_columns(recipe) is None and recipe.data.has_two_texts

    def two_columns(self, recipe: Recipe) -> str | None:
        """Return the description of two columns that become fields of their own; None for others."""
        return self.two_texts(recipe) if callable(self.two_texts) else self.two_texts

    def owned(self) -> dict[tuple[str, str], Any]:
        """Return the default of each key of its own, by section and key."""
        mixins = {"train": self.train, "decode": self.decode, "evaluate": self.evaluate}
        return {
            (section, name): key.get_default(call_default_factory=True)
            for section, mixin in mixins.items()
            if mixin is not None
            for name, key in mixin.model_fields.items()
        }


def systems() -> dict[str, System]:
    """Return all systems by name: those of the package, installed ones, and those of plug-ins (`plugged`).

    Raises:
        ValueError: two systems have one name.
    """
    found = dict(_installed())
    for module, system in plugin_attributes("SYSTEM"):
        if not isinstance(system, System):
            raise ValueError(f"{module}.SYSTEM is a {type(system).__name__}; it should be a regard.System")
        if found.setdefault(system.name, system) is not system:
            raise ValueError(f"{module}: there is a task {system.name!r} already; give the system another name")
    return found


def system_of(task: str) -> System:
    """Return the system of a task.

    Raises:
        ValueError: there is none of this name.
    """
    found = systems()
    if task not in found:
        raise ValueError(f"there is no task {task!r}; there are {', '.join(found)}")
    return found[task]


def default_task() -> str:
    """Return the task of recipes that name none."""
    return next(system.name for system in _installed().values() if system.default)


def format_of(section: type[Section]) -> str:
    """Return the value of `format` that tells a section `data` from others."""
    (tag,) = section.model_fields["format"].annotation.__args__  # type: ignore[union-attr]
    return str(tag)


@cache
def _installed() -> dict[str, System]:
    found: dict[str, System] = {}
    for module in system_modules():
        system: System = importlib.import_module(module).SYSTEM
        if system.name in found:
            raise ValueError(f"{module}: there is a task {system.name!r} already; uninstall one of the two packages")
        found[system.name] = system
    return found
