"""A text with weights on words and lines: places in a picture, a page, a terminal."""

from __future__ import annotations

from pathlib import Path

import torch

from regard.explain.panel import Panel, TextPanel
from regard.view.document import Document
from regard.view.drawing import SCREEN
from regard.view.marked_text import marked_text_drawing, place_words
from regard.view.panels import draw
from regard.view.terminal import marked_text

WORDS = (("a", "$gem$"), ("so", "<b>", "x\x1b"))
VALUES = torch.tensor([[0.25, 0.5, 0.0], [0.0, 0.0, 0.125]])
TEXT = TextPanel("good", VALUES, words=WORDS, line_weights=(0.75, 0.25))


def test_lines_are_wrapped_and_words_stand_apart() -> None:
    (line,) = place_words([["word"] * 50], [[0.0] * 50])
    assert {one.row for one in line} == {0, 1, 2}
    assert all(one.column + 4 <= 110 for one in line)
    for row in range(3):
        columns = [one.column for one in line if one.row == row]
        assert columns == list(range(6, 6 + 5 * len(columns), 5))
    longer = TextPanel("", VALUES[:1].repeat(6, 1), words=WORDS[:1] * 6, line_weights=(1.0,) * 6)
    two, six = (marked_text_drawing(text, SCREEN).height - 0.6 for text in (TEXT, longer))  # less the title
    assert abs(six - 3 * two) < 1e-6


def test_every_kind_of_picture_is_written(tmp_path: Path) -> None:
    plain = TextPanel("good", VALUES, words=(WORDS[0], ("so",)), line_weights=TEXT.line_weights)
    for suffix in (".png", ".svg", ".pdf", ".html"):
        path = tmp_path / f"text{suffix}"
        assert draw([plain, Panel("beside", torch.eye(2)), TextPanel("empty", torch.zeros(0, 0))], path) is None
        assert path.stat().st_size > 500


def test_a_page_has_a_line_with_its_weight_and_no_markup_of_words() -> None:
    text = Document("good").add([TEXT]).html().split("<script")[0]
    rows = [part.split("</tr>")[0] for part in text.split("<tbody>")[1].split("<tr>")[1:]]
    assert [row.count("<bdi>") for row in rows] == [2, 3]
    assert rows[0].startswith('<th scope="row">0.75</th>')
    assert "<bdi>&lt;b&gt;</bdi>" in rows[1]
    assert "\x1b" not in text


def test_a_terminal_shades_lines_and_words_by_the_largest() -> None:
    assert marked_text(VALUES, WORDS, TEXT.line_weights).plain == "█ a▒ $gem$█\n░ so <b> x␛░"
    assert marked_text(torch.zeros(0, 0), (), ()).plain == ""
