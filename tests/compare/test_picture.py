"""The picture: names that are not drawn over one another, however many there are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regard.compare.picture import draw
from tests.compare.made_up import comparison, rows

LONG = "model.attention=additive,general,{score: cosine, hidden_dim: 64, align: local_p}"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were drawn."""
    figures: list[Figure] = []
    monkeypatch.setattr(pyplot, "close", figures.append)
    return figures


def _first(figure: Figure) -> tuple[Axes, Axes, Axes]:
    """The curves, the dots and the numbers of the first measure; axes with numbers come last."""
    return figure.axes[0], figure.axes[1], figure.axes[2 * len(figure.axes) // 3]


@pytest.mark.parametrize(
    "assignments",
    [("train.seed=1,2",), (LONG, "train.seed=1,2"), (LONG, "model.hidden_dim=8,16,24,32,40,48,56,64")],
    ids=["1 row", "3 rows", "24 rows"],
)
def test_names_have_room_and_bands_are_drawn(assignments: tuple[str, ...], drawn: list[Figure], tmp_path: Path) -> None:
    made = comparison(*assignments)
    found = rows(made, lambda number: 0.1 + 0.05 * number)
    draw(made, found, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (figure,) = drawn
    figure.canvas.draw()  # where things are, at the resolution of the screen
    curves, dots, numbers = _first(figure)
    assert len(curves.lines) == len(found)
    assert len(curves.collections) == sum(row.trials > 1 for row in found)
    for side in (dots, numbers):
        boxes = [label.get_window_extent() for label in side.get_yticklabels()]
        assert len(boxes) == len(found)
        assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(label.get_window_extent().x0 > curves.bbox.x1 for label in dots.get_yticklabels())
    assert curves.bbox.width > 0.3 * figure.bbox.width


def test_a_row_without_results_keeps_its_place(drawn: list[Figure], tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64")
    draw(made, rows(made, lambda number: [None, 0.5][number]), tmp_path / "a.png")
    _, dots, numbers = _first(drawn[0])
    assert [label.get_text() for label in dots.get_yticklabels()] == ["32", "64"]
    assert [label.get_text() for label in numbers.get_yticklabels()] == ["–", "0.5000"]
    assert "test loss (lower is better)" in dots.get_xlabel()


def test_metrics_that_are_asked_for_are_drawn_below_what_selects(drawn: list[Figure], tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64", "evaluate.metrics=[cer, exact_match]")
    draw(made, rows(made, lambda number: 0.5), tmp_path / "a.png")
    named = [axis.get_ylabel() for axis in drawn[0].axes[:4:2]]
    assert named == ["valid loss", "valid exact_match"]  # cer was not measured in these rows
    assert drawn[0].axes[3].get_xlabel() == "test exact_match (higher is better)"
    first = comparison("model.hidden_dim=32,64", "evaluate.select=exact_match")
    draw(first, rows(first, lambda number: 0.5), tmp_path / "b.png")
    assert drawn[1].axes[0].get_ylabel() == "valid exact_match"


def test_a_comparison_in_which_everything_failed_has_a_picture_too(tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64")
    draw(made, rows(made, lambda number: None), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
