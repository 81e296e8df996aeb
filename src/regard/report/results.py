"""Result sections of a report: key figures, table of all measures, and training curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regard.evaluate.metric_result import MetricResult, format_number
from regard.report.curves import Curve, Point, curves_figure
from regard.report.markup import Markup, element, join_markup, text
from regard.report.material import ReportData
from regard.report.page import PageSection, paragraph, tiles
from regard.report.scale import tick_label
from regard.report.table import table
from regard.runs.folder import RunError
from regard.runs.metrics_log import AVERAGED

_TILES = 3  # measures among the most important numbers
_SPLITS = {"train": "train", "valid": "valid", AVERAGED: "valid, averaged", "test": "test"}
_KEYS = ("step", "split")


def headline(found: ReportData) -> Markup:
    """Return the most important numbers: measures with intervals, size, updates, time."""
    parts = []
    if found.measured is not None:
        scores = sorted(found.measured.scores.items(), key=lambda one: one[0] not in found.tallies)
        for label, score in scores[:_TILES]:
            interval = _interval(found, label)
            parts.append((f"{found.split} {score.name}", format_number(score.value), interval and f"95%: {interval}"))
        parts.append((f"{found.split} loss", format_number(found.measured.loss, ".4g"), found.measured.loss_unit))
    if found.predictor is not None:
        count = sum(parameter.numel() for parameter in found.predictor.model.parameters())
        parts.append(("parameters", f"{count:,}", found.recipe.model.kind))
    if found.log:
        best = kept_step(found)
        kept = "" if best is None else f"step {best:,} is kept"
        parts.append(("updates", f"{last_step(found):,}", kept))
    return tiles(parts)


def results(found: ReportData) -> PageSection:
    """Return the table of all measures, with intervals and signatures."""
    rows = [*_logged(found), *_measured(found)]
    if not rows:
        return PageSection("results", "Results", paragraph("Nothing was measured yet: the run stopped before."))
    body = table(["split", "measure", "value", "95% interval", "signature"], rows, numbers=[2, 3])
    note = (
        "Intervals are percentiles of bootstrap resamples of the examples; a signature names everything that changes a "
        "value and is not the data."
    )
    return PageSection(
        "results", "Results", join_markup(body, paragraph(note, kind="soft") if found.intervals else None)
    )


def curves(found: ReportData) -> PageSection:
    """Return a chart per measure, over the updates."""
    names = dict.fromkeys(key for row in found.log if row["split"] != "test" for key in row if key not in _KEYS)
    selecting = found.recipe.select[0]
    order = sorted(names, key=lambda name: (name != "loss", name != selecting, name == "rate"))
    best = kept_step(found)
    marked = None if best is None else (float(best), "kept")
    charts = [chart for name in order if (chart := curves_figure(_curves(found, name), of=_words(name), marked=marked))]
    if not charts:
        return PageSection("curves", "Curves", paragraph("The log of the run has no rows yet."))
    return PageSection("curves", "Curves", element("div", charts, class_="figures"))


def last_step(found: ReportData) -> int:
    """Return the step of the last row of the log."""
    return int(found.log[-1]["step"]) if found.log else 0


def kept_step(found: ReportData) -> int | None:
    """Return the step of the kept checkpoint; None for an average of checkpoints, or if unknown."""
    if found.recipe.train.average > 1:
        return None
    checkpoints = found.run.checkpoints()
    try:
        paths = checkpoints.paths()
        progress = checkpoints.progress(paths[-1])[0] if paths else None
    except (RunError, OSError):
        return None
    return None if progress is None or progress.best is None else progress.best_step


def _curves(found: ReportData, name: str) -> list[Curve]:
    """Return the curves of a measure, a colour per split."""
    made = []
    for place, (split, shown_as) in enumerate(_SPLITS.items()):
        points = tuple(Point(row["step"], row[name]) for row in found.log if row["split"] == split and name in row)
        if points and split != "test":
            made.append(Curve(shown_as, points, place))
    return made


def _logged(found: ReportData) -> Iterator[tuple[str | Markup, ...]]:
    """Yield validation rows from the log, for the averaged model or the step of the kept checkpoint."""
    rows = [row for row in found.log if row["split"] in ("valid", AVERAGED)]
    if not rows or (found.split == "valid" and found.measured is not None):
        return
    best = kept_step(found)
    chosen: Mapping[str, Any] = rows[-1]
    if chosen["split"] != AVERAGED:
        chosen = next((row for row in rows if row["step"] == best), rows[-1])
    for name, value in chosen.items():
        if name not in _KEYS:
            yield f"valid, step {chosen['step']:,}", _words(name), format_number(value, ".5g"), "", ""


def _measured(found: ReportData) -> Iterator[tuple[str | Markup, ...]]:
    if found.measured is None:
        return
    task = None if found.predictor is None else found.predictor.task
    unit = found.measured.loss_unit if task is None else task.measured_in
    yield found.split, "loss", format_number(found.measured.loss, ".5g"), "", unit
    for label, score in found.measured.scores.items():
        yield (
            found.split,
            score.name,
            format_number(score.value, ".5g"),
            _interval(found, label),
            _signature(found, label, score),
        )


def _signature(found: ReportData, label: str, score: MetricResult) -> Markup:
    whole = score.signature
    if label in found.intervals:
        whole = f"{whole}|{found.intervals[label].signature}"
    return element("span", text(whole), class_="signature")


def _interval(found: ReportData, label: str) -> str:
    interval = found.intervals.get(label)
    return "" if interval is None else f"{tick_label(interval.low)} to {tick_label(interval.high)}"


def _words(name: str) -> str:
    return "learning rate" if name == "rate" else name.replace("_", " ")
