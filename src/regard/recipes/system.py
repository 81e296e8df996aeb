"""System: the description of a task and its components, without PyTorch; and the discovery of systems."""

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
"""Keys of all recipes that only some systems use; `decode` represents all settings of a search."""


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A task with its recipe sections, data formats, metrics and recipes.

    A system is a package with an attribute `SYSTEM`: below `regard.systems`, installed under the entry point group
    `regard.systems`, or a module that a recipe names under `plugins`. It is described without PyTorch; classes that
    need PyTorch are named as "module:Class" and imported when they are used.

    Attributes:
        name: name of the task in recipes.
        task: the `Task`, "module:Class".
        data: sections of the data formats, shared ones and its own.
        models: "module:Class" of each model by `model.kind`; the constructor defines the keys of recipes.
        metrics: default metrics, or a function of the recipe.
        compares: kinds of metrics that apply to its outputs, or a function of the recipe; None for no metrics.
        select: default criterion for the best model: the first metric, the loss, or both in this order.
        metric_options: default options of metrics.
        uses: shared keys that it uses; all others must have their defaults.
        tokenizer: its own defaults of the section `tokenizer`.
        train, decode, evaluate: sections with additional keys.
        checks: cross-checks, by the name of the section whose line an error reports.
        compares_texts: function of the recipe, True if the model encodes two texts separately; they are one field with
            a separator.
        two_texts: description of two columns that become separate fields, or a function of the recipe that returns it;
            None for one column, or two that are joined.
        default: True for the single system of recipes without `task`.
        pretrains: True if runs of other tasks can be initialised with its tokenizer and encoder.
        commands: "module:function" of additional subcommands, by name.
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
        """Return True if a model accepts two texts joined by a separator, as models with BERT's vocabulary do."""
        encoder = getattr(recipe.model, "encoder", None)
        return self.compares_texts(recipe) or (encoder is not None and encoder.kind == "bert")

    def joins_texts(self, recipe: Recipe) -> bool:
        """Return True if the two texts of an example are joined in one field."""
        return self.two_columns(recipe) is None and recipe.data.has_two_texts

    def two_columns(self, recipe: Recipe) -> str | None:
        """Return the description of two columns that become separate fields; None otherwise."""
        return self.two_texts(recipe) if callable(self.two_texts) else self.two_texts

    def owned(self) -> dict[tuple[str, str], Any]:
        """Return the defaults of the system's own keys, by section and key."""
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
        ValueError: two systems have the same name.
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
        ValueError: there is no system of this name.
    """
    found = systems()
    if task not in found:
        raise ValueError(f"there is no task {task!r}; there are {', '.join(found)}")
    return found[task]


def default_task() -> str:
    """Return the task of recipes without the key `task`."""
    return next(system.name for system in _installed().values() if system.default)


def format_of(section: type[Section]) -> str:
    """Return the value of `format` that selects a section `data`."""
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
