"""Documents: texts split into sentences, each followed by an end token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.fields.column import EncodedRows, concatenate_rows
from regard.data.fields.tokens import TokensField
from regard.specials import EOS

LONGEST = 100
"""Largest number of tokens per sentence; longer sentences are split."""

_ENDS = re.compile(r"""[.!?](?:\s*[.!?])*['"”’)\]]*\s+""")
_ABBREVIATION = re.compile(r"\b(?:[a-z]|mr|mrs|ms|dr|st|jr|sr|vs|prof|etc|e\.g|i\.e)\s?\.\s+$", re.IGNORECASE)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences. Line breaks count as spaces.

    A sentence ends with `.`, `!` or `?` before white space; repeated marks and following closing quotes or brackets
    belong to the end. A full stop after a single letter or a common abbreviation does not end a sentence.

    >>> split_sentences("Mr. J. Doe left . . . why?! (He did.) So\\nit goes")
    ['Mr. J. Doe left . . .', 'why?!', '(He did.)', 'So it goes']
    """
    text = " ".join(text.split())
    cuts = [found.end() for found in _ENDS.finditer(text) if not _ABBREVIATION.search(text, 0, found.end())]
    parts = (text[begin:end].strip() for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True))
    return [part for part in parts if part]


def encoded_documents(
    texts: Sequence[str | Sequence[str]], encode_all: Callable[[Sequence[Any]], Sequence[Sequence[int]]]
) -> list[list[int]]:
    """Encode each text as one row of ids, with an end token after each sentence.

    >>> encoded_documents(["ab. c.", ""], lambda texts: [[ord(letter) for letter in text] for text in texts])
    [[97, 98, 46, 3, 99, 46, 3], []]
    """
    documents = [split_sentences(text if isinstance(text, str) else " ".join(text)) for text in texts]
    encoded = iter(encode_all([sentence for document in documents for sentence in document]))
    return [[index for _ in document for index in _ended(next(encoded))] for document in documents]


def _ended(ids: Sequence[int]) -> Iterator[int]:
    """Yield the ids of a sentence followed by an end token, splitting long sentences."""
    for begin in range(0, max(len(ids), 1), LONGEST):
        yield from ids[begin : begin + LONGEST]
        yield EOS


@dataclass(frozen=True)
class DocumentField(TokensField):
    """Field of documents: ids [B, T] with an end token after each sentence, and lengths [B].

    >>> from regard.data import Tokenizer
    >>> words = DocumentField(Tokenizer.train(["a house ."], kind="words"))
    >>> words.encode(["a house . a ."])["ids"].values
    array([5, 6, 4, 3, 5, 4, 3], dtype=int32)
    """

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        return {"ids": concatenate_rows(encoded_documents(values, self.learned.encode_all), "int32")}
