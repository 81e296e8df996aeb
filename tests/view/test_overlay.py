"""Attention over pictures and spectrograms: values by hand, files, and labels that are whole and apart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from regard.view import overlay
from regard.view.overlay import draw_alignment, draw_glimpses, draw_regions, upsampled
from tests.mechanism import assert_close

PICTURE = np.random.default_rng(0).integers(0, 256, (3, 31, 43), dtype=np.uint8)
WORDS = ["a", "small $dog$", "a word that takes more than three lines of eighteen letters each in all", " ", "<eos>"]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were drawn, in the place of files."""
    drawn: list[Figure] = []
    monkeypatch.setattr(overlay, "_save", lambda figure, path: drawn.append(figure))
    return drawn


def texts(figure: Figure) -> Iterator[tuple[Text, Bbox]]:
    """All texts that are drawn and say something, and where they are; a tick beyond the limits of its axis is not."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    beyond = [  # a list keeps the labels alive: matplotlib makes ticks anew, and an identity could be that of another
        label
        for axes in figure.axes
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not axes.axison or not min(limits) <= tick.get_loc() <= max(limits)
    ]
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible() and not any(text is label for label in beyond):
            yield text, text.get_window_extent(canvas.get_renderer())


def assert_nothing_is_clipped(figure: Figure) -> None:
    last = 1e-6  # pixels: the last digits of a layout depend on the order in which it is solved
    for text, box in texts(figure):
        low, (right, top) = -last, (figure.bbox.x1 + last, figure.bbox.y1 + last)
        inside = box.x0 >= low and box.y0 >= low and box.x1 <= right and box.y1 <= top
        assert inside, f"{text.get_text()!r} is clipped"


def test_weights_over_pixels_by_hand() -> None:
    """Two cells over four pixels: linear between the centres of the cells, and the sum stays."""
    assert_close(upsampled(torch.tensor([[0.25, 0.75]]), [(1, 2)], (1, 4)), [[[0.125, 0.1875, 0.3125, 0.375]]])
    weights = torch.rand(3, 5 * 7 + 2 * 3).softmax(1)
    wide = upsampled(weights, [(5, 7), (2, 3)], (31, 43))
    assert wide.shape == (3, 31, 43)
    assert_close(wide.sum((1, 2)), torch.ones(3), tolerance=1e-5)
    peak = torch.zeros(1, 35)
    peak[0, 7 * 3 + 2] = 1.0
    row, column = divmod(int(upsampled(peak, [(5, 7)], (50, 70)).argmax()), 70)
    assert 30 <= row < 40
    assert 20 <= column < 30


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_files_are_written(tmp_path: Path, suffix: str) -> None:
    weights = torch.rand(2, 6)
    assert draw_regions(tmp_path / f"a{suffix}", PICTURE, weights, ["a", "b"], [(2, 3)]) is None
    assert draw_glimpses(tmp_path / f"b{suffix}", PICTURE, torch.zeros(1, 2), size=4) is None
    assert draw_alignment(tmp_path / f"c{suffix}", torch.randn(50, 13), weights, ["a", "b"]) is None
    assert all((tmp_path / f"{name}{suffix}").stat().st_size > 1000 for name in "abc")


@pytest.mark.parametrize("shape", [(3, 31, 43), (1, 43, 31), (20, 90), (3, 200, 10)])
def test_a_strip_has_a_panel_per_word_with_whole_labels_that_are_apart(
    figures: list[Figure], shape: tuple[int, ...]
) -> None:
    draw_regions(Path("a.png"), np.zeros(shape, np.uint8), torch.rand(5, 6), WORDS, [(2, 2), (1, 2)], columns=3)
    (figure,) = figures
    assert_nothing_is_clipped(figure)
    titles = {panel.get_title() for panel in figure.axes}
    assert {"a", "␣", "<eos>", r"small \$dog\$"} <= titles
    assert any(title.count("\n") == 2 and title.endswith("…") for title in titles)
    boxes = [box for text, box in texts(figure)]
    assert not any(one.overlaps(other) for number, one in enumerate(boxes) for other in boxes[:number])
    assert [len(panel.images) for panel in figure.axes] == [1, 2, 2, 2, 2, 2]


def test_the_brightest_place_is_the_heaviest_region(figures: list[Figure]) -> None:
    draw_regions(Path("a.png"), PICTURE, torch.tensor([[0.1, 0.2, 0.6, 0.1]]), ["dog"], [(2, 2)])
    heat = np.asarray(figures[0].axes[1].images[1].get_array())
    row, column = np.unravel_index(heat.argmax(), heat.shape)
    assert row >= 31 / 2
    assert column <= 43 / 2
    assert heat.max() == 1.0
    assert "0.60" in {text.get_text() for text, _ in texts(figures[0])}


def test_glimpses_are_squares_where_the_retina_looked(figures: list[Figure]) -> None:
    """At (0.5, -0.5) of 40 x 20 the centre is pixel (30, 5): squares of 4 and 8 begin at (28, 3) and (26, 1)."""
    steps = torch.tensor([[0.5, -0.5], [1.0, 1.0], [0.52, -0.5]])
    draw_glimpses(Path("a.png"), np.zeros((20, 40)), steps, size=4, scales=2, title="answer: 7")
    (figure,) = figures
    (axis,) = figure.axes
    squares = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
    assert [(*square.get_xy(), square.get_width()) for square in squares[:2]] == [(28, 3, 4), (26, 1, 8)]
    assert len(squares) == 6
    assert_close(torch.tensor(axis.lines[0].get_xydata()), [[30, 5], [40, 20], [30.4, 5]], tolerance=1e-5)
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    for square in squares:  # also those that reach beyond the picture
        assert left <= square.get_x() <= square.get_x() + square.get_width() <= right
        assert top <= square.get_y() <= square.get_y() + square.get_height() <= bottom
    assert_nothing_is_clipped(figure)


def test_numbers_of_steps_at_one_place_are_apart(figures: list[Figure]) -> None:
    draw_glimpses(Path("a.png"), PICTURE, torch.full((4, 2), 0.1), size=8)
    boxes = [box for text, box in texts(figures[0]) if text.get_text() in "1234"]
    assert len(boxes) == 4
    assert not any(one.overlaps(other) for number, one in enumerate(boxes) for other in boxes[:number])


@pytest.mark.parametrize(("symbols", "frames"), [(1, 3), (12, 49), (200, 25)])
def test_an_alignment_has_the_time_of_its_spectrogram(figures: list[Figure], symbols: int, frames: int) -> None:
    labels = [f"symbol {number}" for number in range(symbols)]
    draw_alignment(Path("a.png"), torch.randn(98, 40), torch.rand(symbols, frames), labels, title="zero one")
    (figure,) = figures
    upper, lower = figure.axes
    assert upper.images[0].get_extent() == [0.0, 0.98, 0, 40]
    assert lower.images[0].get_extent() == [0.0, 0.98, symbols, 0]
    assert_nothing_is_clipped(figure)
    named = [box for text, box in texts(figure) if text.get_text().startswith("symbol")]
    assert 1 <= len(named) <= 42
    assert not any(one.overlaps(other) for one, other in pairwise(named))


def test_no_window_and_no_global_state() -> None:
    code = (
        "import sys, pathlib, tempfile, torch; from regard.view.overlay import draw_regions;"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'a.png';"
        "draw_regions(path, torch.rand(3, 8, 8), torch.rand(1, 4), ['a'], [(2, 2)]);"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_letters_without_a_font_are_named(tmp_path: Path) -> None:
    said = draw_regions(tmp_path / "a.png", PICTURE, torch.rand(1, 4), ["\U00012000"], [(2, 2)])
    assert said is not None
    assert "a.png" in said


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda path: draw_regions(path, PICTURE, torch.rand(2, 5), ["a", "b"], [(2, 2)]), r"\[2, 4\]; got \[2, 5\]"),
        (lambda path: draw_regions(path, PICTURE, torch.rand(2, 4), ["a"], [(2, 2)]), r"\[1, 4\]; got \[2, 4\]"),
        (lambda path: draw_regions(path, PICTURE[:2], torch.rand(1, 4), ["a"], [(2, 2)]), r"\[2, 31, 43\]"),
        (lambda path: draw_glimpses(path, PICTURE, torch.zeros(0, 2), size=4), r"\[0, 2\]"),
        (lambda path: draw_alignment(path, torch.rand(5, 3), torch.rand(2, 5), ["a"]), r"\[2, 5\]"),
        (lambda path: draw_glimpses(path.with_suffix(".gif"), PICTURE, torch.zeros(1, 2), size=4), r"\.gif"),
        (lambda path: draw_glimpses(path / "no" / "a.png", PICTURE, torch.zeros(1, 2), size=4), "cannot be written"),
    ],
)
def test_what_cannot_be_drawn_is_named(tmp_path: Path, draw: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        draw(tmp_path / "a.png")
