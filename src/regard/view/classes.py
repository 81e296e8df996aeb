"""Class tables for the terminal: precision, recall and F1 per class, and the confusion matrix."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from regard.evaluate.class_scores import ClassScores
from regard.evaluate.confusion import Confusion

LISTED = 40
"""Maximum number of listed classes; the most frequent true classes are selected."""
CROSSED = 12
"""Maximum number of classes for a full matrix; otherwise the most frequent confusions are listed."""
_MISTAKES = 10


def class_table(scores: ClassScores) -> Table:
    """Return a row per class, and the averages below.

    >>> table = class_table(Confusion.of([("yes", "yes"), ("yes", "no"), ("no", "no")]).scores())
    >>> [column.header for column in table.columns], table.row_count
    (['class', 'precision', 'recall', 'F1', 'count'], 5)
    """
    table = Table(title=_title(scores), title_justify="left")
    for column in ("class", "precision", "recall", "F1", "count"):
        table.add_column(column, justify="left" if column == "class" else "right")
    found = scores.per_class()
    for name in scores.most_frequent(LISTED):
        table.add_row(escape(name), *numbers(*found[name]))
    table.add_section()
    for name, average in scores.averages().items():
        table.add_row(name, *numbers(*average))
    return table


def confusion_table(confusion: Confusion) -> Table | None:
    """Return the confusion matrix, a row per true class; for many classes the most frequent confusions, or None.

    >>> table = confusion_table(Confusion.of([("yes", "yes"), ("yes", "no"), ("no", "no")]))
    >>> [column.header for column in table.columns]
    ['true \\\\ predicted', 'no', 'yes']
    """
    if len(confusion.names) <= CROSSED:
        table = Table("true \\ predicted", *map(escape, confusion.names), title_justify="left")
        for name, counts in zip(confusion.names, confusion.counts.tolist(), strict=True):
            table.add_row(escape(name), *(f"{count:,}" for count in counts))
        for column in table.columns[1:]:
            column.justify = "right"
        return table
    mistakes = confusion.mistakes(_MISTAKES)
    table = Table("true", "predicted", "times", title="most frequent mistakes", title_justify="left")
    table.columns[2].justify = "right"
    for true, claimed, times in mistakes:
        table.add_row(escape(true), escape(claimed), f"{times:,}")
    return table if mistakes else None


def numbers(precision: float, recall: float, f1: float, count: int) -> tuple[str, ...]:
    """Format the scores of a class or an average as cells."""
    return (*(f"{value:.4f}" for value in (precision, recall, f1)), f"{count:,}")


def _title(scores: ClassScores) -> str | None:
    count = len(scores.names)
    return f"the {LISTED} most frequent of {count:,} classes" if count > LISTED else None
