"""Word links from attention: merges the weights of subword pieces to words and links the largest ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.alignment.links import Links

Weights = NDArray[np.floating]


def words_of_pieces(text: str, places: Sequence[tuple[int, int]]) -> list[int]:
    """Return the index of the word that each piece belongs to; -1 for pieces of white space.

    Words are separated by white space, independently of the tokenizer.

    Args:
        text: the text.
        places: (start, end) character offsets of each piece.

    >>> words_of_pieces("a house.", [(0, 1), (2, 5), (5, 7), (7, 8)])
    [0, 1, 1, 1]
    """
    number, words = -1, []
    for before, letter in zip(" " + text, text, strict=False):
        number += before.isspace() and not letter.isspace()
        words.append(-1 if letter.isspace() else number)
    return [
        next((words[at] for at in range(begin, min(end, len(words))) if words[at] >= 0), -1) for begin, end in places
    ]


def word_weights(
    weights: Weights, source: Sequence[int], target: Sequence[int], sizes: tuple[int, int], *, shift: int = 0
) -> Weights:
    r"""Merge attention between subword pieces to attention between words, [J, I].

    .. math:: w_{ji} = \frac{1}{|T_j|} \sum_{t \in T_j} \sum_{s \in S_i} a_{t + d, s}

    for the target pieces T_j of word j and the source pieces S_i of word i: a sum over the source, whose weights are a
    distribution, and a mean over the target (Koehn & Knowles 2017, section 3.5). Pieces outside any word, such as
    `</s>`, are ignored. With d = 0 a target piece has the attention of the step that predicts it. With d = 1 it has
    that of the step that takes it as input (Shift-Att, Chen et al. 2020, section 3.1). Rows out of range are skipped; a
    word with no row left gets zeros.

    Args:
        weights: a [T, S], one row per predicted piece; the last row may be that of `</s>`.
        source: index of the word of each of the S source pieces, -1 for none.
        target: index of the word of each target piece, -1 for none.
        sizes: I and J.
        shift: d.

    >>> attention = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> word_weights(attention, [0, 0, 1], [0, 0, -1], (2, 1))
    array([[0.875, 0.125]])
    >>> word_weights(attention, [0, 0, 1], [0, 0, -1], (2, 1), shift=1)
    array([[0.5, 0.5]])
    """
    # A 0/1 matrix [S, I] that sums the weights of the pieces of each source word in one product.
    columns = np.zeros((len(source), sizes[0]))
    columns[[at for at, word in enumerate(source) if word >= 0], [word for word in source if word >= 0]] = 1.0
    found, counts = np.zeros((sizes[1], sizes[0])), np.zeros(sizes[1])  # [J, I], [J]
    merged = weights @ columns  # [T, I]
    for at, word in enumerate(target):
        if word >= 0 and 0 <= at + shift < len(merged):
            found[word] += merged[at + shift]
            counts[word] += 1
    return found / np.maximum(counts, 1)[:, None]


def attention_links(weights: Weights, *, threshold: float | None = None) -> Links:
    """Return the word links that attention [J, I] suggests.

    Args:
        weights: attention between words, [J, I].
        threshold: link each pair with at least this weight. None links each target word to the source word with the
            largest weight; a target word whose weights are all zero gets no link.

    >>> attention = np.array([[0.7, 0.3], [0.0, 0.0]])
    >>> sorted(attention_links(attention)), sorted(attention_links(attention, threshold=0.3))
    ([(0, 0)], [(0, 0), (1, 0)])
    """
    if threshold is not None:
        rows, columns = np.nonzero(weights >= threshold)
    else:
        rows = np.flatnonzero(weights.max(1, initial=0.0) > 0)
        columns = weights[rows].argmax(1) if len(rows) else rows
    return frozenset(zip(columns.tolist(), rows.tolist(), strict=True))
