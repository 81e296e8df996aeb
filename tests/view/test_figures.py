"""Pictures of every style: compared with stored ones, whole names, vector text, and the same bytes each time.

`REGARD_STORE_PICTURES=1 pytest tests/view/test_figures.py` stores them anew; look at them before they are kept.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.explain.panel import Panel
from regard.view.drawing import PAPER, SCREEN, figure_of
from regard.view.figures import drawing_of
from regard.view.panels import draw
from regard.view.payload import styles_of
from regard.view.style import Style, check_style
from tests.view.test_document import EVERY
from tests.view.test_overlay import assert_nothing_is_clipped

PICTURES = Path(__file__).parent / "pictures"
ENGLISH, GERMAN = ["the", "black", "cat", "sat"], ["die", "schwarze", "Katze", "saß"]
WEIGHTS = torch.tensor([[0.8, 0.1, 0.1, 0.0], [0.1, 0.7, 0.2, 0.0], [0.0, 0.1, 0.8, 0.1], [0.0, 0.0, 0.3, 0.7]])
STORED: dict[str, tuple[Panel, Style | None]] = {
    "heatmap": (Panel("the cat", WEIGHTS, "German", "English", tuple(GERMAN), tuple(ENGLISH), ((0, 0), (1, 1))), None),
    "lines": (Panel("the cat", WEIGHTS, "German", "English", tuple(GERMAN), tuple(ENGLISH)), "lines"),
    "birdseye": (
        regard.view.heads(torch.stack([WEIGHTS, WEIGHTS.T])[None].expand(2, 2, 4, 4), ENGLISH).panels[0],
        None,
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_pictures_are_those_that_are_stored(tmp_path: Path, name: str) -> None:
    """The mean difference of a pixel is below two of 255: other versions of matplotlib move letters a little."""
    panel, style = STORED[name]
    draw([panel], tmp_path / "a.png", style=style)
    if os.environ.get("REGARD_STORE_PICTURES"):
        Image.open(tmp_path / "a.png").convert("RGB").quantize(32).save(PICTURES / f"{name}.png")
    drawn, stored = (Image.open(path).convert("RGB") for path in (tmp_path / "a.png", PICTURES / f"{name}.png"))
    assert abs(drawn.width - stored.width) <= 4
    assert abs(drawn.height - stored.height) <= 4
    small = [np.asarray(one.resize((120, 120)), np.float64) for one in (drawn, stored)]
    assert np.abs(small[0] - small[1]).mean() < 2.0


@pytest.mark.filterwarnings("ignore:Glyph 9243")  # of a control character, in a font that does not have it
@pytest.mark.parametrize("number", range(len(EVERY)))
def test_every_style_of_every_panel_is_a_picture_with_whole_names(number: int) -> None:
    panel = EVERY[number]
    for style in styles_of(panel):
        figure = figure_of([drawing_of(panel, SCREEN, style)])
        if style not in ("tree", "text"):
            assert_nothing_is_clipped(figure)


def test_a_column_of_a_paper_is_three_and_a_half_inches_with_text_as_text(tmp_path: Path) -> None:
    panel, _ = STORED["heatmap"]
    figure = figure_of([drawing_of(panel, PAPER)])
    assert figure.get_figwidth() == 3.5
    assert_nothing_is_clipped(figure)
    draw([panel], tmp_path / "a.svg", paper=True)
    assert ">schwarze</text>" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    draw([panel], tmp_path / "a.pdf", paper=True)
    assert b"/Type /Font" in (tmp_path / "a.pdf").read_bytes()


@pytest.mark.parametrize("suffix", [".html", ".png", ".svg", ".pdf"])
def test_the_same_view_is_the_same_file(tmp_path: Path, suffix: str) -> None:
    for name in "ab":
        regard.view.heatmap(WEIGHTS, GERMAN, ENGLISH, title="the cat").save(tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_map_larger_than_a_picture_is_pooled(tmp_path: Path) -> None:
    rows = regard.view.LazyRows((5000, 5000), lambda first, last: np.eye(5000, dtype=np.float32)[first:last])
    drawing = drawing_of(regard.view.heatmap(rows).panels[0], SCREEN)
    shown = figure_of([drawing]).axes[0].images[0].get_array()
    assert shown is not None
    assert shown.shape == (1250, 1250)
    assert np.array_equal(shown, np.eye(1250))


def test_what_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lines between 90 and 90 tokens"):
        regard.view.lines(torch.eye(90), list(map(str, range(90)))).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="style 'heat' is none of heatmap, lines"):
        check_style("heat")
