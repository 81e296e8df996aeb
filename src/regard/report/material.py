"""Data collection for a report from the run folder, the dataset and the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from regard.evaluate.bootstrap import Interval, bootstrap_interval
from regard.evaluate.tally import Tally
from regard.predictor import Predictor, load
from regard.recipes.data_section import SplitName
from regard.recipes.sections import Recipe
from regard.report.examples import ExampleRow, SplitInputs, rows
from regard.report.record import TrainingRecord
from regard.runs.folder import RunError, model_file
from regard.runs.run import Run
from regard.tasks.measurement import Measurement, measure, metric_targets
from regard.tasks.splits import Split, encode_split

EXAMPLES = 200
"""Examples of a report, each with its loss."""
Of = TypeVar("Of")
Made = TypeVar("Made")


@dataclass(frozen=True)
class ReportData:
    """Data of a report; unavailable parts are listed in `missing`.

    Attributes:
        run: run folder.
        recipe: recipe of the run.
        log: rows of `metrics.jsonl`.
        record: training record; None if the run has none.
        predictor: the trained model; None if the run has none.
        splits: data splits by name.
        split: name of the evaluated split.
        measured: measurement of that split; None if not evaluated.
        missing: a sentence per omitted part.
    """

    run: Run
    recipe: Recipe
    log: tuple[Mapping[str, Any], ...]
    record: TrainingRecord | None
    predictor: Predictor | None = None
    splits: Mapping[str, Split | None] = field(default_factory=dict)
    split: SplitName = "test"
    measured: Measurement | None = None
    missing: tuple[str, ...] = ()

    @cached_property
    def examples(self) -> list[ExampleRow]:
        """Examples of the measured split with answers and losses, the hardest first."""
        split = self.splits.get(self.split)
        if self.predictor is None or split is None or self.measured is None:
            return []
        model, task = self.predictor.model, self.predictor.task
        return rows(model, task, split, self.measured, self.questions, most=EXAMPLES)

    @cached_property
    def questions(self) -> SplitInputs | None:
        """Inputs of the measured split with their references; None for language models."""
        split = self.splits.get(self.split)
        if self.predictor is None or split is None or self.predictor.task.answer is None:
            return None
        return SplitInputs.of(self.predictor.task, split, self.recipe)

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """Counts of each metric of the recipe over the measured split, by label."""
        asked = self.questions
        if self.predictor is None or self.measured is None or asked is None:
            return {}
        if len(asked.inputs) != len(self.measured.predictions):
            return {}
        texts, task = [one.text for one in self.measured.predictions], self.predictor.task
        return {
            one.label: one.count(texts, metric_targets(one, task, asked.inputs, asked.references))
            for one in self.recipe.metrics
        }

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Bootstrap interval of each metric over the measured split."""
        return {label: bootstrap_interval(tally) for label, tally in self.tallies.items()}


def trained_material(
    folder: Path, splits: Mapping[str, Split | None], measured: Mapping[SplitName, Measurement | None]
) -> ReportData:
    """Return the report data of a run that this process has trained and evaluated.

    Args:
        folder: run folder.
        splits: data splits of the training.
        measured: final measurements by split; the last one is used.
    """
    run, missing = Run(folder), list[str]()
    known = {name: one for name, one in measured.items() if one is not None}
    name: SplitName = "test" if "test" in known else "valid"
    predictor = _tried(lambda one: load(one, device="cpu"), folder, missing, "no examples or attention")
    predictor = _bound(predictor, splits[name])
    recipe, log, record = run.recipe(), tuple(run.metrics), TrainingRecord.of(folder)
    return ReportData(run, recipe, log, record, predictor, splits, name, known.get(name), tuple(missing))


def material(folder: Path) -> ReportData:
    """Load the data and the model of a run from disk, evaluate it, and return the report data.

    Raises:
        RunError: the folder is not a run.
    """
    run, missing = Run(folder), list[str]()
    recipe, record, log = run.recipe(), TrainingRecord.of(folder), tuple(run.metrics)
    predictor = _tried(_loaded, folder, missing, "there are no examples, and nothing is measured")
    if predictor is None:
        return ReportData(run, recipe, log, record, missing=tuple(missing))
    cache, encoders = folder.parent / ".cache", predictor.task.encoders
    splits: dict[str, Split | None] = {}
    names: tuple[SplitName, ...] = ("train", "valid", "test")
    for name in names:
        read = _tried(lambda one: [encode_split(recipe, one, encoders, cache)], name, missing, f"no split {name}")
        splits[name] = None if read is None else read[0]
    chosen = next((name for name in ("test", "valid") if splits[name] is not None), None)
    found, split = None, None if chosen is None else splits[chosen]
    if split is not None:
        found = _tried(
            lambda one: measure(predictor.model, predictor.task, one, recipe, samples=recipe.evaluate.examples),
            split,
            missing,
            "nothing is measured",
        )
    named: SplitName = "test" if chosen == "test" else "valid"
    return ReportData(run, recipe, log, record, _bound(predictor, split), splits, named, found, tuple(missing))


def _loaded(folder: Path) -> Predictor:
    """Load the model of a run; checks for missing files before it allocates a possibly large model."""
    model_file(folder)
    return load(folder)


def _bound(predictor: Predictor | None, split: Split | None) -> Predictor | None:
    """Return a predictor whose task is bound to the examples of the measured split."""
    if predictor is None or split is None:
        return predictor
    return replace(predictor, task=predictor.task.bind(predictor.model, split.examples))


def _tried(make: Callable[[Of], Made], of: Of, missing: list[str], without: str) -> Made | None:
    """Return the result of `make`; on a data or run error, add a sentence to `missing` and return None."""
    try:
        return make(of)
    except (RunError, ValueError, OSError) as problem:
        missing.append(f"{without}: {problem}")
        return None
