"""Attention and tags drawn in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len, get_character_cell_size
from rich.text import Text
from torch import Tensor

from regard.view.text import isolated, visible

_SHADES = " ░▒▓█"
_LONGEST = 12  # characters of a token that are shown


def heat_map(weights: Tensor | None, columns: Sequence[str], rows: Sequence[str]) -> Text:
    """Heat map with a row per target token and a column per source token, darker for larger weights.

    Columns are headed by their whole tokens, read from top to bottom; a token of more than 12 characters ends in "…".
    The shades ░▒▓█ stand for weights around 1/4, 1/2, 3/4 and 1. A row without a weight above 1/8 would be blank: there
    █ is the largest weight of the row, and its value is written behind it.

    Args:
        weights: [T, S], rows sum to at most one; None draws nothing.
        columns: the S tokens that were read.
        rows: the T tokens that were written.

    >>> import torch
    >>> print(heat_map(torch.tensor([[0.9, 0.1], [0.0, 0.5], [0.04, 0.08]]), ["a", "cat"], ["x", "y", "z"]).plain)
        c
        a
      a t
    x █
    y   ▒
    z ▒ █  █ = 0.08
    """
    if weights is None:
        return Text("")
    labels = [isolated("".join(_cut(row))) for row in rows]
    wide = max(map(cell_len, labels), default=0)
    lines = [" " * (wide + 1) + head for head in _heads(columns)]
    for label, values in zip(labels, weights.tolist(), strict=True):
        lines.append(_filled(label, wide + 1) + _shaded(values))
    return Text("\n".join(line.rstrip() for line in lines), no_wrap=True, overflow="ellipsis")


def story_map(weights: Tensor, sentences: Sequence[str], columns: Sequence[str] | None = None) -> Text:
    """Heat map with a row per sentence and a column per hop; shades as in `heat_map`.

    Args:
        weights: [K, N], of each hop on each sentence.
        sentences: the N sentences.
        columns: a name for each hop, read from top to bottom; None for their numbers.

    >>> import torch
    >>> print(story_map(torch.tensor([[0.0, 0.9], [1.0, 0.0]]), ["Mary ran home", "Mary took the milk"]).plain)
                       1 2
    Mary ran home        █
    Mary took the milk █
    """
    sentences = [isolated(visible(sentence)) for sentence in sentences]
    wide = max(map(cell_len, sentences), default=0) + 1
    numbers = [" ".join(str(hop) for hop in range(1, len(weights) + 1))]
    lines = [" " * wide + head for head in (numbers if columns is None else _heads(columns))]
    for sentence, values in zip(sentences, weights.T.tolist(), strict=True):
        lines.append(_filled(sentence, wide) + _levels(values, 1.0))
    return Text("\n".join(line.rstrip() for line in lines), no_wrap=True, overflow="ellipsis")


def marked_text(weights: Tensor, words: Sequence[Sequence[str]], line_weights: Sequence[float]) -> Text:
    """Text in lines, with a shade for the weight before each line and after each word.

    █ is the largest weight of a line, and of a word.

    Args:
        weights: [R, C], of each word of each line.
        words: the words of each line.
        line_weights: of the lines.

    >>> import torch
    >>> text = [["the", "bed", "was", "pazo"], ["a", "gem"]]
    >>> print(marked_text(torch.tensor([[0.0, 0.0, 0.0, 0.2], [0.1, 0.8, 0.0, 0.0]]), text, [0.2, 0.8]).plain)
    ░ the bed was pazo░
    █ a gem█
    """
    largest, top = max(float(weights.max()), 1e-9) if weights.numel() else 1.0, max(line_weights, default=1.0)
    lines = []
    for line, values, weight in zip(words, weights.tolist(), line_weights, strict=True):
        marked = (
            isolated(visible(word)) + _levels([value], largest).strip()
            for word, value in zip(line, values[: len(line)], strict=True)
        )
        lines.append(f"{_levels([weight], top)} {' '.join(marked)}")
    return Text("\n".join(lines))


def stacked(*rows: Sequence[str], width: int = 100) -> Text:
    """Aligned rows of tokens, wrapped to the width, such as tags under their words.

    Args:
        rows: each with a token for each column; one that is shorter leaves its last columns empty.
        width: line width; wrapped blocks are separated by an empty line.

    >>> print(stacked(["the", "dog", "sleeps"], ["DT", "NN", "VB"]).plain)
    the dog sleeps
    DT  NN  VB
    """
    blocks: list[list[str]] = []
    room = 0
    for tokens in zip_longest(*rows, fillvalue=""):
        column = [isolated(visible(token)) for token in tokens]
        wide = max(map(cell_len, column)) + 1
        if wide > room + 1:  # the last column needs no space behind it
            blocks.append([""] * len(rows))
            room = width
        blocks[-1] = [line + _filled(token, wide) for line, token in zip(blocks[-1], column, strict=True)]
        room -= wide
    shown = ("\n".join(line.rstrip() for line in block) for block in blocks)
    return Text("\n\n".join(shown), no_wrap=True, overflow="ellipsis")


def _heads(columns: Sequence[str]) -> list[str]:
    """The lines over a picture, the last character of each token in the last one.

    A column is one wide and has a space behind it, into which a wide character may reach.
    """
    tokens = [_cut(column) for column in columns]
    height = max(map(len, tokens), default=0)
    raised = [[" "] * (height - len(token)) + token for token in tokens]
    return ["".join(_filled(isolated(token[line]), 2) for token in raised) for line in range(height)]


def _cut(token: str) -> list[str]:
    """The characters of a token, each with the marks on it; a long one is cut."""
    found: list[str] = []
    for character in visible(token):
        if get_character_cell_size(character):
            found.append(character)
        elif found:
            found[-1] += character
        else:
            found.append("◌" + character)  # a mark on nothing
    return found if len(found) <= _LONGEST else [*found[: _LONGEST - 1], "…"]


def _shaded(values: Sequence[float]) -> str:
    """A row of weights."""
    largest = max(values, default=0.0)
    small = 0 < largest <= 1 / 8
    shown = _levels(values, largest if small else 1.0)
    return f"{shown}  █ = {largest:.2g}" if small else shown


def _levels(values: Sequence[float], full: float) -> str:
    """A shade for each value, █ for `full`."""
    levels = [round(value / full * (len(_SHADES) - 1)) for value in values]
    return " ".join(_SHADES[max(0, min(len(_SHADES) - 1, level))] for level in levels)


def _filled(text: str, width: int) -> str:
    """A text with spaces behind it, as wide as said or wider."""
    return text + " " * (width - cell_len(text))
