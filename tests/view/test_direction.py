"""Texts from right to left keep to their own side, in titles, under pictures and beside shades."""

from __future__ import annotations

import re

import pytest
import torch

from regard.explain.panel import Panel
from regard.view.document import Document
from regard.view.drawing import title_of
from regard.view.terminal import heat_map, stacked, story_map
from regard.view.text import isolated

HEBREW, ARABIC = "שלום", "سلام"


def test_only_what_is_written_from_right_to_left_is_isolated() -> None:
    assert [isolated(text) for text in ("abc", "3 März", "日本", "")] == ["abc", "3 März", "日本", ""]
    assert [isolated(text) for text in (HEBREW, f"a {ARABIC} 3")] == [
        f"\u2068{HEBREW}\u2069",
        f"\u2068a {ARABIC} 3\u2069",
    ]


@pytest.mark.parametrize("word", [HEBREW, ARABIC])
def test_rows_and_columns_of_the_terminal_stay_where_they_are(word: str) -> None:
    weights = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    for drawn in (
        heat_map(weights, [word, "b"], [word, "b"]),
        story_map(weights, [word, "b"]),
        stacked([word, "b"], ["X", "Y"]),
    ):
        plain = drawn.plain
        assert plain.count("\u2068") == plain.count("\u2069") > 0
        assert re.search(f"[{HEBREW}{ARABIC}]", re.sub("\u2068[^\u2068\u2069]*\u2069", "", plain)) is None


def test_isolates_take_no_room() -> None:
    weights = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    plain = re.sub("[\u2068\u2069]", "", heat_map(weights, [HEBREW, "b"], [HEBREW, "b"]).plain)
    latin = heat_map(weights, ["xyzw", "b"], ["xyzw", "b"]).plain
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in latin.splitlines()]


def test_a_page_isolates_its_title_and_every_name() -> None:
    title = f"{isolated(HEBREW)} → b"
    text = Document(title).add([Panel(title, torch.eye(1), rows=(ARABIC,), columns=(HEBREW,))]).html()
    assert f'<bdi dir="ltr">\u2068{HEBREW}\u2069 → b</bdi></h1>' in text  # else the arrow pointed to the input
    assert f'<h1><bdi dir="auto">{HEBREW}</bdi></h1>' in Document(HEBREW).html()
    assert f"<bdi>{ARABIC}</bdi>" in text
    assert f"<bdi>{HEBREW}</bdi> 1" in text


def test_a_title_of_a_picture_runs_from_left_to_right() -> None:
    assert title_of(f"{ARABIC} → b") == f"\u200e{ARABIC} → b"
