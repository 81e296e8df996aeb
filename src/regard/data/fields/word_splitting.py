"""Splitting of raw text into words and punctuation, and joining of words to readable text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

from tokenizers import Regex, pre_tokenizers

WordSplit = Literal["punctuation", "whitespace"]
"""Word splitting: at white space and punctuation, or at white space only."""

_WORD = r"[\p{L}\p{M}\p{N}_]+"
_PATTERN = "|".join(
    (
        "<unk>",  # the unknown word, as some corpora write it
        r"(?:\p{L}\.){2,}",  # U.S., e.g.
        rf"{_WORD}(?:(?:['’‐‑-]|(?<=\p{{N}})[.,:/](?=\p{{N}})){_WORD})*",  # don't, well-known, 3.14, 10:30
        r"\.{2,}",
        "-{2,}",
        r"\S",
    )
)

_BEFORE = frozenset(",.;:!?)]}…”»’%、。，！？；：」』）")  # attached to the previous word
_BEHIND = frozenset("([{¿¡„«‘#@「『（")  # attached to the next word
_QUOTES = frozenset("\"'")  # opening and closing alternate
_CURRENCIES = frozenset("$£€¥")


def word_splitter(split: WordSplit) -> pre_tokenizers.PreTokenizer:
    """Return the library's pre-tokenizer.

    >>> [word for word, _ in word_splitter("punctuation").pre_tokenize_str("Don't pay $3.14 for a hoe, e.g. this!")]
    ["Don't", 'pay', '$', '3.14', 'for', 'a', 'hoe', ',', 'e.g.', 'this', '!']
    """
    if split == "whitespace":
        return pre_tokenizers.WhitespaceSplit()
    return pre_tokenizers.Split(Regex(_PATTERN), "removed", invert=True)


def joined_words(words: Sequence[str]) -> str:
    """Join words to a text with usual punctuation spacing; splitting it yields the same words.

    >>> joined_words(["She", "said", ":", '"', "a", "hoe", "(", "$", "5", ")", "!", '"'])
    'She said: "a hoe ($5)!"'
    """
    parts: list[str] = []
    open_quotes: set[str] = set()
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        closes = word in open_quotes
        if number and not (closes or _stands_behind(before, word, open_quotes) or _stands_before(word, before)):
            parts.append(" ")
        if word in _QUOTES or word == "“":
            open_quotes ^= {word}
        if word == "„":
            open_quotes.add("“")  # closes it in German
        parts.append(word)
    return "".join(parts)


def _stands_before(word: str, before: str) -> bool:
    """Return whether a mark is attached to the previous word."""
    if word == "/":
        return True
    if set(word) == {"."}:
        return set(before) != {"."}  # two marks, and not one of two dots
    if word == "%":
        return _is_number(before[-1])
    return word in _BEFORE


def _stands_behind(before: str, word: str, open_quotes: set[str]) -> bool:
    """Return whether a word is attached to an opening mark before it."""
    if before == "/":
        return not _is_number(word[0])  # 3/4 is one word
    if before in _CURRENCIES:
        return _is_number(word[0])
    return before in _BEHIND or before in open_quotes


def _is_number(character: str) -> bool:
    return unicodedata.category(character).startswith("N")
