"""Texts as lists of sentences, such as the story that a question refers to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from regard.specials import EOS

_BOUNDARY = re.compile(r"(?<=[.!?])\s+")


class Sentences(list[str]):
    """The sentences of a text, oldest first. They are encoded as one row of ids, with `</s>` after each sentence.

    >>> Sentences.of("Mary took the milk. Where is it?")
    ['Mary took the milk', 'Where is it']
    """

    @classmethod
    def of(cls, text: str) -> Sentences:
        """Split a text at tabs or line ends; if there are none, after each '.', '!' and '?'."""
        parts = re.split(r"[\t\n]", text) if re.search(r"[\t\n]", text.strip()) else _BOUNDARY.split(text)
        return cls(filter(None, map(strip_sentence_end, parts)))


def strip_sentence_end(sentence: str) -> str:
    """Return a sentence with single spaces and without its final punctuation mark.

    >>> strip_sentence_end(" Where is  the milk? ")
    'Where is the milk'
    """
    return " ".join(sentence.split()).rstrip(".!?").rstrip()


def encoded_sentences(
    texts: Sequence[Sequence[str]], encode_all: Callable[[Sequence[Any]], Sequence[Sequence[int]]]
) -> list[list[int]]:
    """Encode each text as one row of ids, with `</s>` after each sentence.

    >>> encoded_sentences([["ab", "c"], []], lambda texts: [[ord(letter) for letter in text] for text in texts])
    [[97, 98, 3, 99, 3], []]
    """
    encoded = iter(encode_all([sentence for text in texts for sentence in text]))
    return [[index for _ in text for index in (*next(encoded), EOS)] for text in texts]
