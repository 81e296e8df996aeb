"""Merging of subwords to words: weights are summed over the subwords of a key and averaged over those of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import torch
from torch import Tensor

from regard.explain.panel import HeadsPanel, Panel

_BEGINS = ("▁", "Ġ")  # pieces that begin a word, of SentencePiece and of byte-level BPE
_GOES_ON = "##"  # a piece that goes on, of WordPiece
_OPEN = "@@"  # a piece whose word goes on behind it, of subword-nmt


def words_of(pieces: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Group subword pieces into words, each with the positions of its pieces; whole words are unchanged.

    >>> words_of(["▁play", "ing", "▁chess", "</s>"])
    [('playing', [0, 1]), ('chess', [2]), ('</s>', [3])]
    >>> words_of(["un", "##known", "words"]), words_of(["low@@", "er"])
    ([('unknown', [0, 1]), ('words', [2])], [('lower', [0, 1])])
    >>> words_of(["a", "house"])
    [('a', [0]), ('house', [1])]
    """
    marked = any(piece.startswith(_BEGINS) for piece in pieces)
    numbers: list[int] = []
    for place, piece in enumerate(pieces):
        before = pieces[place - 1] if place else ""
        if not place or _special(piece) or _special(before):
            goes_on = False
        elif marked:
            goes_on = not piece.startswith(_BEGINS)
        else:
            goes_on = piece.startswith(_GOES_ON) or before.endswith(_OPEN)
        numbers.append(numbers[-1] + (not goes_on) if numbers else 0)
    groups = [list(places) for _, places in groupby(range(len(pieces)), key=numbers.__getitem__)]
    return [("".join(_bare(pieces[place], place == places[0]) for place in places), places) for places in groups]


def _special(piece: str) -> bool:
    return len(piece) > 2 and piece[0] + piece[-1] in ("<>", "[]")


def _bare(piece: str, first: bool) -> str:
    """Return a piece without its word boundary or continuation mark."""
    for mark in _BEGINS:
        piece = piece.removeprefix(mark)
    return (piece if first else piece.removeprefix(_GOES_ON)).removesuffix(_OPEN)


def merged(panel: Panel) -> Panel:
    """Return a panel between words.

    Weights are summed over the pieces of a key word and averaged over those of a query word, so that rows remain
    distributions (Clark et al. 2019, section 4.1).

    >>> weights = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    >>> panel = Panel("", weights, rows=("▁a", "b"), columns=("▁x", "y", "▁z"))
    >>> merged(panel).values, merged(panel).rows, merged(panel).columns
    (tensor([[0.3750, 0.6250]]), ('ab',), ('xy', 'z'))
    """
    down = words_of(panel.rows) if panel.rows else None
    along = words_of(panel.columns) if panel.columns else None
    found = {name for names in (panel.rows, panel.columns) for name in names}
    if panel.values.dim() != 2 or not found:
        return panel
    values = _merged(panel.values, down, along)
    if isinstance(panel, HeadsPanel):
        panel = replace(panel, weights=_merged(panel.weights, down, along), queries=None, keys=None)
    return replace(
        panel,
        values=values,
        rows=tuple(word for word, _ in down or ()),
        columns=tuple(word for word, _ in along or ()),
        outlined=tuple({(_of(row, down), _of(column, along)): None for row, column in panel.outlined}),
        centres=_centres(panel.centres, down, along),
    )


Words = list[tuple[str, list[int]]]


def _merged(values: Tensor, down: Words | None, along: Words | None) -> Tensor:
    """Merge weights between pieces [..., T, S] to weights between words [..., R, C]."""
    if down is not None:
        # Query pieces first: their mean keeps row sums at 1, and the sum over key pieces does not change them.
        values = torch.stack([values[..., places, :].mean(-2) for _, places in down], -2)
    if along is not None:
        values = torch.stack([values[..., places].sum(-1) for _, places in along], -1)
    return values


def _centres(centres: Sequence[float], down: Words | None, along: Words | None) -> tuple[float, ...]:
    """Convert window centres to word positions; a query word has the mean of its pieces' centres.

    >>> _centres((0.0, 1.0, 2.5), [("a", [0, 1]), ("b", [2])], [("xy", [0, 1]), ("z", [2])])
    (0.0, 1.5)
    """
    placed = [centre if along is None else _place(centre, along) for centre in centres]
    if down is None or not placed:
        return tuple(placed)
    return tuple(sum(placed[place] for place in places) / len(places) for _, places in down)


def _place(centre: float, along: Words) -> float:
    """Convert a position among pieces to one among words; both refer to the centres of cells."""
    piece = min(max(int(centre + 0.5), 0), along[-1][1][-1])
    number = _of(piece, along)
    places = along[number][1]
    return number + (centre - places[0] + 0.5) / len(places) - 0.5


def _of(place: int, words: Words | None) -> int:
    return place if words is None else next(number for number, (_, places) in enumerate(words) if place in places)
