"""Attention drawn in the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rich.text import Text
from torch import Tensor

_SHADES = " ░▒▓█"


def heat_map(weights: Tensor | None, columns: Sequence[str], rows: Sequence[str]) -> Text:
    """A row for each thing written, a column for each thing read, darker where more weight lies.

    Args:
        weights: [T, S], rows sum to at most one; None draws nothing.
        columns: the S tokens that were read.
        rows: the T tokens that were written.

    >>> import torch
    >>> print(heat_map(torch.tensor([[0.9, 0.1], [0.0, 0.5]]), ["a", "b"], ["x", "y"]).plain)
      a b
    x █
    y   ▒
    """
    if weights is None:
        return Text("")
    wide = max((_width(row) for row in rows), default=0)
    lines = [" " * (wide + 1) + " ".join(_cell(column) for column in columns)]
    for row, values in zip(rows, weights.tolist(), strict=True):
        shades = " ".join(_SHADES[min(len(_SHADES) - 1, round(value * (len(_SHADES) - 1)))] for value in values)
        lines.append(row + " " * (wide - _width(row) + 1) + shades)
    return Text("\n".join(line.rstrip() for line in lines), no_wrap=True, overflow="ellipsis")


def _cell(token: str) -> str:
    """One column wide: the first character, or a dot where it would not fit."""
    first = token[:1] or " "
    return first if _width(first) == 1 else "·"


def _width(text: str) -> int:
    """How many columns a terminal gives a text."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
