"""HTML page of a comparison: table, curves, results of all runs, and significance tests."""

from __future__ import annotations

from collections.abc import Sequence

from regard.compare.comparison import Comparison
from regard.compare.result import ResultRow, higher_is_better, measured
from regard.compare.significance import Difference, differences
from regard.compare.table import TableColumn, columns
from regard.report.curves import Curve, Point, curves_figure
from regard.report.dots import Dots, dots_figure
from regard.report.markup import Markup, element, join_markup, text
from regard.report.page import PageSection, document, paragraph
from regard.report.scale import tick_label
from regard.report.table import table
from regard.runs.files import atomic_path

_SIGNIFICANT = 0.05


def write_page(comparison: Comparison, rows: Sequence[ResultRow]) -> None:
    """Write `comparison.html` into the folder of a comparison."""
    with atomic_path(comparison.folder / "comparison.html") as draft:
        draft.write_text(comparison_page(comparison, rows), encoding="utf-8")


def comparison_page(comparison: Comparison, rows: Sequence[ResultRow]) -> str:
    """Return the page; the same runs give the same page."""
    names = [_name(comparison, row) for row in rows]
    parts = [
        PageSection("results", "Results", _table(columns(comparison, rows))),
        PageSection("differences", "Differences", _differences(comparison, rows, names)),
        PageSection("curves", "Curves", _curves(rows, names)),
        PageSection("runs", "All runs", _runs(rows, names)),
        PageSection("again", "Again", element("pre", text(comparison.command))),
    ]
    keys = " and ".join(axis.key for axis in comparison.axes)
    trials = len(comparison.trials)
    lead = f"{trials} runs of {comparison.trials[0].recipe.task} that differ in {keys}."
    made = f"Comparison of {comparison.folder} by Regard. This page loads nothing from outside."
    return document(comparison.folder.name, lead, Markup(""), parts, made)


def _name(comparison: Comparison, row: ResultRow) -> str:
    """Return the values of a row in a line; the name of the comparison where runs differ in seed or fold alone."""
    return " · ".join(row.values.values()) or comparison.folder.name


def _table(found: Sequence[TableColumn]) -> Markup:
    cells = zip(*(column.cells for column in found), strict=True)
    rows = [[element("b", text(one.text)) if one.best else text(one.text) for one in row] for row in cells]
    numbers = [place for place, column in enumerate(found) if column.number]
    note = (
        "Measured is the model that a run kept; ± is the standard deviation over seeds or folds (n - 1). The best of "
        "each measure is bold."
    )
    return join_markup(table([column.heading for column in found], rows, numbers=numbers), paragraph(note, kind="soft"))


def _differences(comparison: Comparison, rows: Sequence[ResultRow], names: Sequence[str]) -> Markup:
    found, why = differences(rows, comparison.trials[0].recipe.metrics)
    if not found:
        return paragraph(why)
    named = {id(row): name for row, name in zip(rows, names, strict=True)}
    heads = ["row", "metric", "difference", "95% interval", "p", ""]
    shown = table(heads, [_difference(named[id(one.row)], one) for one in found], numbers=[2, 3, 4])
    first = next(name for row, name in zip(rows, names, strict=True) if row.results)
    note = join_markup(
        "Each row against the first, ", element("b", text(first)),
        ", by a paired bootstrap over the test examples of the mean over seeds. It asks whether another choice of "
        "examples could turn the difference; the spread over seeds is in the table above.",
    )  # fmt: skip
    return join_markup(shown, paragraph(note, kind="soft"))


def _difference(name: str, one: Difference) -> tuple[str, ...]:
    found = one.found
    higher = one.metric.higher_is_better
    verdict = "no clear difference"
    if found.p_value < _SIGNIFICANT and found.difference:
        verdict = "better" if (found.difference > 0) == higher else "worse"
    interval = f"{tick_label(found.low)} to {tick_label(found.high)}"
    return (
        name,
        one.metric.label.replace("_", " "),
        f"{found.difference:+.4g}",
        interval,
        f"{found.p_value:.4f}",
        verdict,
    )


def _curves(rows: Sequence[ResultRow], names: Sequence[str]) -> Markup:
    """Return a chart of the validations per measure: a curve per row, the mean over seeds with a band."""
    measures = dict.fromkeys(
        name for row in rows for result in row.results for _, values in result.curve for name in values
    )
    charts = []
    for measure in measures:
        made = [
            Curve(label, tuple(Point(step, at.mean, at.deviation) for step, at in row.curve(measure).items()), place)
            for place, (label, row) in enumerate(zip(names, rows, strict=True))
        ]
        note = "Bands are ± one standard deviation over seeds or folds." if any(row.trials > 1 for row in rows) else ""
        charts.append(curves_figure(made, of=f"valid {measure.replace('_', ' ')}", caption=note))
    drawn = [chart for chart in charts if chart is not None]
    return element("div", drawn, class_="figures") if drawn else paragraph("No run was validated.")


def _runs(rows: Sequence[ResultRow], names: Sequence[str]) -> Markup:
    """Return a chart per measure with a dot for each run."""
    charts = []
    for split, measure in measured(rows):
        made = [
            Dots(
                label,
                tuple(one.measures[split, measure] for one in row.results if (split, measure) in one.measures),
                place,
            )
            for place, (label, row) in enumerate(zip(names, rows, strict=True))
        ]
        way = {True: "Higher is better.", False: "Lower is better.", None: ""}[higher_is_better(measure)]
        charts.append(dots_figure(made, of=f"{split} {measure.replace('_', ' ')}", caption=way))
    drawn = [chart for chart in charts if chart is not None]
    return element("div", drawn, class_="figures") if drawn else paragraph("No run has ended.")
