"""Padding of the tensors of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.specials import BOS, EOS, PAD

Ints = NDArray[np.int64]


class PaddingRule(NamedTuple):
    """Padding of one tensor: its value, and the axes along which a batch may be made larger without changing anything.

    Attributes:
        value: of the cells that hold nothing.
        grows: per axis None where the size is fixed; else how many cells do not count when the size is rounded up: 1
            for texts of which a model reads all tokens but the last.
    """

    value: float
    grows: tuple[int | None, ...]


class PaddedArray(NamedTuple):
    """A tensor of a batch, as an array, and its padding."""

    values: NDArray[Any]
    padding: PaddingRule


PER_EXAMPLE = PaddingRule(0, (0,))
"""Of lengths, [B]: an example that fills up a batch is empty."""


def table(ids: NDArray[Any], begins: Ints, counts: Ints, *, pad: int, first: bool = False, last: bool = False) -> Ints:
    """Return ids side by side, padded, and framed by a beginning and an end.

    Args:
        ids: of all examples, one after another.
        begins: [B], the first id of each example.
        counts: [B], the number of ids of each example.
        pad: value of the padding.
        first, last: whether a row begins with `<s>`, and ends with `</s>`.

    >>> table(np.array([7, 8, 9]), np.array([0, 2]), np.array([2, 1]), pad=0, last=True).tolist()
    [[7, 8, 3], [9, 3, 0]]
    """
    lengths = counts + first + last
    found = np.full((len(counts), lengths.max(initial=first + last)), pad, np.int64)  # [B, T]
    columns = np.arange(counts.max(initial=0))
    present = columns < counts[:, None]  # [B, T] without the frame
    found[:, first : first + len(columns)][present] = ids[(begins[:, None] + columns)[present]]
    if first:
        found[:, 0] = BOS
    if last:
        found[np.arange(len(counts)), lengths - 1] = EOS
    return found


def nested(rows: Sequence[Sequence[int] | NDArray[Any]]) -> tuple[Ints, Ints]:
    """Return rows with an end behind each sentence as words [B, N, J], and the number of sentences [B].

    >>> nested([[5, 6, 3, 7, 3], []])
    (array([[[5, 6],
            [7, 0]],
    <BLANKLINE>
           [[0, 0],
            [0, 0]]]), array([2, 0]))
    """
    texts = [_sentences(np.asarray(row, np.int64)) for row in rows]
    most = max(map(len, texts), default=0)
    longest = max((len(sentence) for text in texts for sentence in text), default=0)
    words = np.full((len(texts), most, longest), PAD, np.int64)
    for row, text in enumerate(texts):
        for column, sentence in enumerate(text):
            words[row, column, : len(sentence)] = sentence
    return words, np.array([len(text) for text in texts], np.int64)


def _sentences(row: Ints) -> list[Ints]:
    """Return the sentences of a row, without their ends."""
    ends = np.flatnonzero(row == EOS)
    return [row[begin:end] for begin, end in zip((0, *(ends[:-1] + 1)), ends, strict=True)] if len(ends) else []
