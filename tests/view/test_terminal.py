"""Attention and tags drawn in the terminal."""

from __future__ import annotations

import pytest
import torch
from rich.cells import cell_len

from regard.view import heat_map
from regard.view.terminal import stacked


def lines(weights: list[list[float]], columns: list[str], rows: list[str]) -> list[str]:
    return heat_map(torch.tensor(weights), columns, rows).plain.split("\n")


def test_characters_by_hand() -> None:
    drawn = lines([[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]], ["a", "▁", "d"], ["x", "long"])
    assert drawn == ["     a ▁ d", "x    █", "long ░ ▒ ░"]


def test_words_stand_over_their_columns_from_top_to_bottom() -> None:
    drawn = lines([[1.0, 0.0, 0.0], [0.0, 0.0, 0.6]], ["▁sh", "irt", "."], ["▁", "</s>"])
    assert drawn == [
        "     ▁ i",
        "     s r",
        "     h t .",
        "▁    █",
        "</s>     ▒",
    ]


def test_long_tokens_are_cut() -> None:
    drawn = lines([[1.0]], ["a" * 12], ["b" * 13])
    assert drawn == [" " * 13 + "a"] * 12 + ["b" * 11 + "… █"]
    assert lines([[1.0]], ["a" * 13], ["b"])[-2] == "  …"


def test_wide_and_combining_characters_keep_their_columns() -> None:
    drawn = lines([[0.0, 1.0], [1.0, 0.0]], ["語", ""], ["日", "e\u0301"])
    assert drawn == ["   語", "日   █", "e\u0301  █"]
    drawn = lines([[0.0, 0.0, 1.0]], ["日本", "e\u0301t", "\u0301"], ["x"])
    assert drawn == ["  日e\u0301", "  本t ◌\u0301", "x     █"]


@pytest.mark.parametrize("text", ["กั้น", "한국어", "שָׁלוֹם", "naïve", "नमस्ते"])
def test_a_column_is_where_its_token_is_in_every_script(text: str) -> None:
    *heads, row = lines([[0.0, 1.0]], [text, "x"], ["y"])
    assert cell_len(row[: row.index("█")]) == cell_len(heads[-1][: heads[-1].index("x")])


def test_a_row_of_small_weights_shows_its_maximum_and_says_so() -> None:
    words = ["w"] * 30
    small, even, nothing, seen = [0.03] * 30, [1 / 30] * 30, [0.0] * 30, [0.025] * 30
    small[4], seen[4] = 0.1, 0.126
    drawn = lines([small, even, nothing, seen], words, ["a", "b", "c", "d"])[1:]
    assert drawn[0].split() == ["a", *"░" * 4, "█", *"░" * 25, "█", "=", "0.1"]
    assert drawn[1] == "b " + " ".join("█" * 30) + "  █ = 0.033"
    assert drawn[2] == "c"
    assert drawn[3] == "d" + " " * 9 + "░"


def test_nothing_draws_nothing() -> None:
    assert heat_map(None, [], []).plain == ""
    assert heat_map(torch.zeros(0, 3), ["a", "b", "c"], []).plain == " a b c"
    assert lines([[]], [], ["x"]) == ["x"]
    assert stacked([], []).plain == ""


def test_tags_stand_under_their_words() -> None:
    words, tags = ["日本", "e\u0301te\u0301", "won't", "."], ["NNP", "NN", "MD", "."]
    assert stacked(words, tags).plain.split("\n") == ["日本 e\u0301te\u0301 won't .", "NNP  NN  MD    ."]
    assert stacked(words, tags, ["", "JJ"]).plain.split("\n")[2] == "     JJ"


def test_tags_go_on_below_where_the_screen_ends() -> None:
    words, tags = ["aaa", "b", "cc", "d" * 9], ["X", "YYY", "Z", "W"]
    assert stacked(words, tags, width=7).plain == "aaa b\nX   YYY\n\ncc\nZ\n\nddddddddd\nW"
    assert stacked(words, tags, width=6).plain.startswith("aaa\nX\n\nb   cc\nYYY Z\n\n")
