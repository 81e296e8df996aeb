"""Classes in a report: precision, recall and F1 of each, and the confusion matrix as a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from regard.evaluate.class_scores import ClassScores
from regard.evaluate.confusion import Confusion
from regard.explain.panel import Panel
from regard.runs.files import written
from regard.view.classes import CROSSED, LISTED, numbers
from regard.view.panels import draw
from regard.view.text import cell

PICTURE = "confusion.png"
_MISTAKES = 20


def class_lines(scores: ClassScores) -> Iterator[str]:
    """Return the lines of Markdown about the classes of a split."""
    found, largest = scores.per_class(), scores.most_frequent(LISTED)
    yield from ("| class | precision | recall | F1 | count |", "|---|---:|---:|---:|---:|")
    for name in largest:
        yield _row(cell(name), *numbers(*found[name]))
    if (left := len(found) - len(largest)) > 0:
        yield _row(f"*and {left:,} rarer classes*", *[""] * 4)
    for name, average in scores.averages().items():
        yield _row(f"**{name}**", *numbers(*average))


def confusion_lines(confusion: Confusion) -> Iterator[str]:
    """Return the lines of Markdown about which class was taken for which."""
    yield ""
    if len(confusion.names) <= CROSSED:
        yield _row("true \\\\ predicted", *map(cell, confusion.names))
        yield f"|---|{'---:|' * len(confusion.names)}"
        for name, counts in zip(confusion.names, confusion.counts.tolist(), strict=True):
            yield _row(cell(name), *(f"{count:,}" for count in counts))
    else:
        yield from ("| true | predicted | times |", "|---|---|---:|")
        for true, claimed, times in confusion.mistakes(_MISTAKES):
            yield _row(cell(true), cell(claimed), f"{times:,}")
    yield from ("", f"![share of each true class that is predicted as each class]({PICTURE})")


def draw_confusion(confusion: Confusion, folder: Path) -> None:
    """Write the matrix as a picture: a row per true class, darker where a larger share of it is predicted."""
    part, found = confusion.largest(LISTED), confusion.scores().per_class()
    supports = torch.tensor([found[name].support for name in part.names], device="cpu")
    shares = torch.from_numpy(part.counts) / supports.clamp(min=1).unsqueeze(1)  # [C, C]
    panel = Panel("share of each true class", shares, "true", "predicted", part.names, part.names)
    with written(folder / PICTURE) as draft:
        draw([panel], draft, suffix=".png")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
