"""Attention drawn in the terminal."""

from __future__ import annotations

import torch

from regard.view import heat_map


def test_a_picture_by_hand() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]])
    drawn = heat_map(weights, ["ab", "c", "d"], ["x", "long"]).plain
    assert drawn.split("\n") == ["     a c d", "x    █", "long ░ ▒ ░"]


def test_wide_and_combining_characters_keep_their_columns() -> None:
    drawn = heat_map(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), ["語", ""], ["日", "e\u0301"]).plain
    assert drawn.split("\n") == ["   ·", "日   █", "e\u0301  █"]


def test_nothing_draws_nothing() -> None:
    assert heat_map(None, [], []).plain == ""
    assert heat_map(torch.zeros(0, 3), ["a", "b", "c"], []).plain == " a b c"
