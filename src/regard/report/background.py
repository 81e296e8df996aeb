"""Report sections on the background of a run: data, warnings, time, versions, recipe and commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np
import yaml

from regard.data.fields.labels import Labels
from regard.data.generated import ENDLESS
from regard.report.bars import Bar, bars_figure
from regard.report.breakdown import histogram
from regard.report.markup import Markup, element, join_markup, text
from regard.report.material import ReportData
from regard.report.page import PageSection, paragraph
from regard.report.table import table
from regard.tasks.splits import Split

_LABELS = 24  # labels whose frequency is drawn
_SHOWN = 3  # examples of the training data
_LETTERS = 300


def data(found: ReportData) -> PageSection:
    """Return sizes of the splits, lengths and labels of the training split, and some of its examples."""
    rows = list(_sizes(found))
    parts = [table(["split", "examples", "left out"], rows, numbers=[1, 2])] if rows else []
    parts += _encoders(found)
    train = found.splits.get("train")
    charts = [] if train is None else [*_lengths(train), *_labels(train)]
    parts += [element("div", charts, class_="figures")] if charts else []
    parts += _first_examples(train) if train is not None else []
    return PageSection("data", "Data", join_markup(parts) if parts else paragraph("The data of the run were not read."))


def training(found: ReportData) -> PageSection:
    """Return warnings, time, versions and machine, as far as the training recorded them."""
    record, parts = found.record, [paragraph(text(one), kind="note") for one in found.missing]
    if record is None:
        sentence = (
            "The run has no record of warnings, time and versions: it was stopped, or is older than these reports."
        )
        return PageSection("training", "Training", join_markup(parts, paragraph(sentence)))
    warnings = [element("li", text(one)) for one in record.warnings]
    parts.append(element("h3", "Warnings"))
    parts.append(element("ul", warnings) if warnings else paragraph("None."))
    if record.seconds:
        times = [
            (activity, f"{seconds:,.1f}", f"{record.counts.get(activity, 0):,}")
            for activity, seconds in sorted(record.seconds.items(), key=lambda one: -one[1])
        ]
        parts += [element("h3", "Time"), table(["activity", "seconds", "times"], times, numbers=[1, 2])]
    parts.append(element("h3", "Versions and machine"))
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    parts.append(paragraph(text(f"{versions}; {record.machine}")))
    return PageSection("training", "Training", join_markup(parts))


def recipe(found: ReportData) -> PageSection:
    """Return the resolved recipe, and the commands to repeat or resume the training."""
    folder = found.run.folder
    again = shlex.join(["regard", "train", str(folder / "recipe.yaml"), f"run={found.recipe.run}-again"])
    parts = [element("h3", "Again")]
    if found.record is not None and found.record.command:
        parts.append(element("pre", text(found.record.command)))
    parts.append(element("pre", text(again)))
    written = yaml.safe_dump(found.recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    parts += [element("h3", "Recipe, with all defaults"), element("pre", text(written), tabindex=0)]
    return PageSection("recipe", "Recipe", join_markup(parts))


def _sizes(found: ReportData) -> Iterator[tuple[str, str, str]]:
    for name, split in found.splits.items():
        if split is not None:
            skipped = 0 if split.encoded is None else split.encoded.skipped.count
            yield name, "drawn without end" if len(split) >= ENDLESS else f"{len(split):,}", f"{skipped:,}"


def _encoders(found: ReportData) -> list[Markup]:
    if found.predictor is None or not found.predictor.task.encoders:
        return []
    rows = [
        (name, type(encoder).__name__.lower(), f"{encoder.size:,}")
        for name, encoder in found.predictor.task.encoders.items()
        if hasattr(encoder, "size")
    ]
    return [table(["field", "encoder", "entries"], rows, numbers=[2])] if rows else []


def _lengths(train: Split) -> Iterator[Markup]:
    """Yield a histogram of lengths for each field of variable length."""
    for place, field in enumerate(() if train.encoded is None else train.encoded.fields):
        lengths = np.asarray(train.corpus.lengths(field))
        bars = histogram(lengths)
        if len(bars) > 1:
            middle = f"Median {int(np.median(lengths)):,}, longest {int(lengths.max()):,}."
            yield bars_figure(
                bars, of="examples", along="length", counted="examples", title=f"Length of {field}", caption=middle,
                colour=place % 4,
            )  # fmt: skip


def _labels(train: Split) -> Iterator[Markup]:
    """Yield a chart of label frequencies."""
    for field, kind in train.encoded.kinds.items() if train.encoded is not None else ():
        if isinstance(kind.encoder, Labels):
            ids = np.asarray(train.corpus.ids(field))
            counts = np.bincount(ids[ids >= 0], minlength=kind.encoder.size)
            order = np.argsort(-counts, kind="stable")[:_LABELS].tolist()
            bars = [Bar(kind.encoder.names[place], float(counts[place]), int(counts[place])) for place in order]
            few = f"The {_LABELS} most frequent of {kind.encoder.size:,}." if kind.encoder.size > _LABELS else ""
            yield bars_figure(
                bars, of="times", along=field, counted="in training", title=f"Values of {field}", caption=few, colour=2
            )


def _first_examples(train: Split) -> list[Markup]:
    """Return the text fields of the first training examples."""
    rows: list[tuple[str, ...]] = []
    names: list[str] = []
    for _, example in zip(range(_SHOWN), train.examples, strict=False):
        texts = {name: _said(value) for name, value in example.fields.items()}
        names = names or [name for name, value in texts.items() if value]
        rows.append(tuple(texts.get(name, "") for name in names))
    return [element("h3", "First examples"), table(names, rows)] if names else []


def _said(value: object) -> str:
    """Return a value as text; "" for arrays and recordings."""
    if isinstance(value, dict):
        said = ", ".join(f"{name}: {one}" for name, one in value.items())
    else:
        said = " ".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
    return said if len(said) <= _LETTERS else f"{said[: _LETTERS - 1]}…"
