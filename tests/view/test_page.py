"""Panels as a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from regard.explain.panel import Panel
from regard.view.page import page
from regard.view.panels import draw


class Balanced(HTMLParser):
    """Sees that what is opened is closed, and keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style" and data.strip():
            self.text.append(data.strip())


def test_each_row_is_the_text_with_its_words_marked(tmp_path: Path) -> None:
    weights = torch.tensor([[0.0, 0.4], [0.2, 0.1]])
    draw([Panel("a <b> & c", weights, rows=("hop 1", "all"), columns=("<b>", "c"))], tmp_path / "a.html")
    written = (tmp_path / "a.html").read_text(encoding="utf-8")
    read = Balanced()
    read.feed(written)
    assert read.open == []
    assert read.text == ["a <b> & c", "hop 1", "<b>", "c", "all", "<b>", "c"]
    strengths = re.findall(r"rgba\(31, 119, 180, ([\d.]+)\)", written)
    assert strengths == ["0.00", "1.00", "0.50", "0.25"]  # of the largest
    assert "http" not in written  # it needs nothing else


def test_numbers_without_words_are_cells_and_those_below_zero_are_red() -> None:
    written = page([Panel("tape", torch.tensor([[-2.0, 1.0, 0.0]])), Panel("nothing", torch.zeros(1, 2))])
    assert re.findall(r'<td title="(.+?)" style="background: rgba\((\d+)', written)[:3] == [
        ("-2", "214"),
        ("1", "31"),
        ("0", "31"),
    ]
    assert written.count("<th>0</th>") == 2


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be written \(No such file or directory\)"):
        draw([Panel("zeros", torch.zeros(2, 3))], tmp_path / "none" / "a.html")
