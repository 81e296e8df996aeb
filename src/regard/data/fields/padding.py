"""Padding of the tensors of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.specials import BOS, EOS, PAD

Ints = NDArray[np.int64]


class PaddingRule(NamedTuple):
    """Padding of one tensor: its value, and the axes that may be padded further without changing any result.

    Attributes:
        value: value of padded cells.
        grows: per axis, None if the size is fixed; otherwise the number of cells not counted when the size is rounded
            up: 1 for texts of which the model takes all tokens but the last as input.
    """

    value: float
    grows: tuple[int | None, ...]


class PaddedArray(NamedTuple):
    """A tensor of a batch, as a NumPy array, and its padding."""

    values: NDArray[Any]
    padding: PaddingRule


PER_EXAMPLE = PaddingRule(0, (0,))
"""Padding rule of lengths, [B]: examples that pad a batch have length 0."""


def table(ids: NDArray[Any], begins: Ints, counts: Ints, *, pad: int, first: bool = False, last: bool = False) -> Ints:
    """Collate ids to a padded table [B, T], optionally with `<s>` and `</s>`.

    Args:
        ids: concatenated ids of all examples.
        begins: offset of the first id of each example, [B].
        counts: number of ids of each example, [B].
        pad: value of the padding.
        first, last: whether to prepend `<s>`, and to append `</s>`.

    >>> table(np.array([7, 8, 9]), np.array([0, 2]), np.array([2, 1]), pad=0, last=True).tolist()
    [[7, 8, 3], [9, 3, 0]]
    """
    lengths = counts + first + last
    found = np.full((len(counts), lengths.max(initial=first + last)), pad, np.int64)  # [B, T]
    columns = np.arange(counts.max(initial=0))
    present = columns < counts[:, None]  # [B, T] without `<s>` and `</s>`
    # One gather for the whole batch: the mask selects the same cells, in the same order, on both sides.
    found[:, first : first + len(columns)][present] = ids[(begins[:, None] + columns)[present]]
    if first:
        found[:, 0] = BOS
    if last:
        found[np.arange(len(counts)), lengths - 1] = EOS
    return found


def nested(rows: Sequence[Sequence[int] | NDArray[Any]]) -> tuple[Ints, Ints]:
    """Convert rows in which `</s>` ends each sentence to ids [B, N, J] and the number of sentences [B].

    >>> nested([[5, 6, 3, 7, 3], []])
    (array([[[5, 6],
            [7, 0]],
    <BLANKLINE>
           [[0, 0],
            [0, 0]]]), array([2, 0]))
    """
    texts = [_sentences(np.asarray(row, np.int64)) for row in rows]  # B x N sentences of J ids
    most = max(map(len, texts), default=0)
    longest = max((len(sentence) for text in texts for sentence in text), default=0)
    words = np.full((len(texts), most, longest), PAD, np.int64)
    for row, text in enumerate(texts):
        for column, sentence in enumerate(text):
            words[row, column, : len(sentence)] = sentence
    return words, np.array([len(text) for text in texts], np.int64)


def _sentences(row: Ints) -> list[Ints]:
    """Split a row into its sentences, without `</s>`."""
    ends = np.flatnonzero(row == EOS)
    return [row[begin:end] for begin, end in zip((0, *(ends[:-1] + 1)), ends, strict=True)] if len(ends) else []
