"""Texts whose sentences are told apart: the memory that a question is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.field_kind import FieldKind
from regard.specials import EOS, PAD

_BOUNDARY = re.compile(r"(?<=[.!?])\s+")


class Sentences(list[str]):
    """The sentences of a text, oldest first. As ids they are one row, with an end behind each sentence.

    >>> Sentences.of("Mary took the milk. Where is it?")
    ['Mary took the milk', 'Where is it']
    """

    KIND: ClassVar[FieldKind] = "sentences"

    @classmethod
    def of(cls, text: str) -> Sentences:
        """Cut a text at its tabs or line ends; where there are none, behind each '.', '!' and '?'."""
        parts = re.split(r"[\t\n]", text) if re.search(r"[\t\n]", text.strip()) else _BOUNDARY.split(text)
        return cls(filter(None, map(bare, parts)))


def bare(sentence: str) -> str:
    """A sentence with single spaces and without the mark at its end.

    >>> bare(" Where is  the milk? ")
    'Where is the milk'
    """
    return " ".join(sentence.split()).rstrip(".!?").rstrip()


def encoded_sentences(
    texts: Sequence[Sequence[str]], encode_all: Callable[[Sequence[Any]], Sequence[Sequence[int]]]
) -> list[list[int]]:
    """Each text as one row of ids, with an end behind each sentence.

    >>> encoded_sentences([["ab", "c"], []], lambda texts: [[ord(letter) for letter in text] for text in texts])
    [[97, 98, 3, 99, 3], []]
    """
    encoded = iter(encode_all([sentence for text in texts for sentence in text]))
    return [[index for _ in text for index in (*next(encoded), EOS)] for text in texts]


def folded(rows: Sequence[Sequence[int] | NDArray[np.int32]]) -> tuple[Tensor, Tensor]:
    """Rows with an end behind each sentence as words [B, N, J], and how many sentences each has, [B].

    >>> folded([[5, 6, 3, 7, 3], []])
    (tensor([[[5, 6], [7, 0]], [[0, 0], [0, 0]]]), tensor([2, 0]))
    """
    texts = [_cut(np.asarray(row, np.int64)) for row in rows]
    size = max(map(len, texts), default=0)
    longest = max((len(sentence) for text in texts for sentence in text), default=0)
    words = np.full((len(texts), size, longest), PAD, np.int64)
    for row, text in enumerate(texts):
        for place, sentence in enumerate(text):
            words[row, place, : len(sentence)] = sentence
    return torch.from_numpy(words), torch.tensor([len(text) for text in texts], dtype=torch.long)


def _cut(row: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The sentences of a row, without their ends."""
    ends = np.flatnonzero(row == EOS)
    return [row[begin:end] for begin, end in zip((0, *(ends[:-1] + 1)), ends, strict=True)] if len(ends) else []
