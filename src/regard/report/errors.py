"""Error analysis sections: hard examples, breakdowns by length, frequency and position, and confusions."""

from __future__ import annotations

from collections.abc import Iterator

from regard.evaluate.class_scores import ClassScores
from regard.evaluate.confusion import Confusion
from regard.report.attention import attention
from regard.report.bars import bars_figure
from regard.report.breakdown import by_frequency, by_length, by_position
from regard.report.examples import ExampleRow, sample_examples
from regard.report.figure import figure
from regard.report.heat_map import heat_map
from regard.report.markup import Markup, element, join_markup, text
from regard.report.material import ReportData
from regard.report.page import PageSection, paragraph
from regard.report.table import numbers_behind, table
from regard.tasks.input_output import InputOutput
from regard.tasks.prediction import Prediction
from regard.view.classes import CROSSED, LISTED, numbers

_DRAWN = 5  # examples whose attention is drawn
_MISTAKES = 20
_LETTERS = 400  # of a text in the table of examples


def attention_of_examples(found: ReportData) -> PageSection:
    """Return the attention of some examples, from the hardest to the easiest."""
    if found.predictor is None or not found.examples:
        return PageSection(
            "attention", "Attention", paragraph("There is no trained model to look into, or no example.")
        )
    predictor, chosen = found.predictor, sample_examples(found.examples, _DRAWN)
    ordered = any(row.loss is not None for row in found.examples)
    note = "From the example with the largest loss to that with the smallest." if ordered else "Evenly chosen examples."
    body = attention(predictor.model, predictor.task, predictor.search, chosen)
    return PageSection("attention", "Attention", join_markup(paragraph(note, kind="soft"), body))


def examples(found: ReportData) -> PageSection:
    """Return the table of examples, which a script makes sortable."""
    if found.predictor is None or not found.examples:
        return PageSection("examples", "Examples", paragraph("There are no answers to show."))
    rows, task, total = found.examples, found.predictor.task, len(found.measured.predictions) if found.measured else 0
    losses, known = any(row.loss is not None for row in rows), any(row.references for row in rows)
    heads = [*(["loss"] if losses else []), *(["right"] if _judged(rows) else []), "input", "answer"]
    heads += ["reference"] if known else []
    shown_rows = table(heads, [tuple(_cells(task, row, heads)) for row in rows], numbers=[0] if losses else ())
    spread = "" if len(rows) == total else f", evenly chosen from {total:,}"
    order = f", the largest loss first (mean nats per {task.unit})" if losses else ""
    plural = "example" if len(rows) == 1 else "examples"
    note = f"{len(rows):,} {plural} of the split {found.split}{spread}{order}. Headings sort the table."
    box = element("div", element("div", shown_rows, class_="examples sortable"), class_="tall")
    return PageSection("examples", "Examples", join_markup(paragraph(note, kind="soft"), box))


def breakdowns(found: ReportData) -> PageSection | None:
    """Return error charts by length, frequency and position; None if all are empty."""
    asked = found.questions
    if found.predictor is None or found.measured is None or not found.tallies or asked is None:
        return None
    task, predictions, references = found.predictor.task, found.measured.predictions, asked.references
    label, tally = next(iter(found.tallies.items()))
    name = found.measured.scores[label].name
    kinds = (
        (
            by_length(tally, [_length(one) for one in predictions]),
            {"of": name, "along": "length of the input", "counted": "examples", "title": f"{name} by length",
             "caption": "Bars hold about as many examples each; lines are 95% intervals."},
        ),
        (
            by_frequency(task, found.splits.get("train"), predictions, references),
            {"of": "share found", "along": "times in training", "counted": "in references",
             "title": "Found in answers by frequency", "colour": 2,
             "caption": "Tokens or labels of the references, by how often the training split has them."},
        ),
        (
            by_position(task, predictions, references),
            {"of": "share right", "along": "place in the reference", "counted": "in references",
             "title": "Right by position", "colour": 3,
             "caption": "Words or characters that answer and reference have at the same place."},
        ),
    )  # fmt: skip
    charts = [bars_figure(bars, **settings) for bars, settings in kinds if bars]
    return PageSection("errors", "Errors", element("div", charts, class_="figures")) if charts else None


def classes(found: ReportData) -> PageSection | None:
    """Return scores per class and the confusion matrix; None if answers are not class labels."""
    measured = found.measured
    if measured is None or measured.classes is None:
        return None
    parts = [_class_table(measured.classes)]
    if measured.confusion is not None:
        parts.append(_confusion(measured.confusion))
    return PageSection("classes", "Classes", join_markup(parts))


def _class_table(scores: ClassScores) -> Markup:
    per_class, listed = scores.per_class(), scores.most_frequent(LISTED)
    rows = [(name, *numbers(*per_class[name])) for name in listed]
    rows += [(f"{name} average", *numbers(*one)) for name, one in scores.averages().items()]
    left = len(per_class) - len(listed)
    heads = ["class", "precision", "recall", "F1", "count"]
    shown_rows = table(heads, rows, numbers=range(1, 5))
    return join_markup(shown_rows, paragraph(f"And {left:,} rarer classes.", kind="soft") if left > 0 else None)


def _confusion(confusion: Confusion) -> Markup:
    """Return the confusion matrix, normalised per true class."""
    part = confusion.largest(LISTED)
    totals = {name: max(1, int(row.sum())) for name, row in zip(confusion.names, confusion.counts, strict=True)}
    counts = part.counts.tolist()
    shares = [[count / totals[name] for count in row] for name, row in zip(part.names, counts, strict=True)]
    said = [[f"{count:,}" if count else "" for count in row] for row in counts] if len(part.names) <= CROSSED else None
    chart = heat_map(shares, part.names, part.names, "Confusion matrix", said=said, down="true", along="predicted")
    caption = join_markup(element("b", "Confusion"), " Share of each true class that is predicted as each class.")
    mistakes = [(one.true, one.claimed, f"{one.times:,}") for one in confusion.mistakes(_MISTAKES)]
    behind = numbers_behind(["true", "predicted", "times"], mistakes, numbers=[2]) if mistakes else None
    return figure(chart, caption, behind)


def _judged(rows: list[ExampleRow]) -> bool:
    return any(row.right is not None for row in rows)


def _cells(task: InputOutput, row: ExampleRow, heads: list[str]) -> Iterator[str | Markup]:
    if "loss" in heads:
        yield "" if row.loss is None else f"{row.loss:.4f}"
    if "right" in heads:
        yield Markup("") if row.right is None else _verdict(row.right)
    yield _cut(task.shown_input(row.prediction))
    yield _cut(row.prediction.said())
    if "reference" in heads:
        yield _cut(" / ".join(row.references))


def _verdict(right: bool) -> Markup:
    return element("span", "yes" if right else "no", class_="right" if right else "wrong")


def _length(prediction: Prediction) -> int:
    return len(prediction.source_tokens) or len(prediction.source.split())


def _cut(given: str) -> Markup:
    return text(given if len(given) <= _LETTERS else f"{given[: _LETTERS - 1]}…")
