"""Texts that are written from right to left, beside others."""

from __future__ import annotations

import unicodedata

_RIGHT_TO_LEFT = frozenset({"R", "AL", "RLE", "RLO", "RLI"})
_FIRST_STRONG, _POP = "\u2068", "\u2069"


def isolated(text: str) -> str:
    r"""Return a text within Unicode's isolates if anything in it is written from right to left.

    Without them it would take the arrow, the number or the other text beside it along to its own side.

    >>> isolated("abc"), isolated("\u05d0\u05d1")
    ('abc', '\u2068אב\u2069')
    """
    if text.isascii() or not any(unicodedata.bidirectional(one) in _RIGHT_TO_LEFT for one in text):
        return text
    return f"{_FIRST_STRONG}{text}{_POP}"
