"""Nearest name for a misspelt one: "did you mean ...?"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, or None if none is similar.

    Ties are broken by likely typing errors: first transposed letters, then an equal first letter.

    >>> nearest("dtaes", ["dates", "tales"])
    'dates'
    >>> nearest("dtaes", ["cora"])
    """

    def likeness(one: str) -> tuple[float, bool, bool]:
        return SequenceMatcher(None, one, name).ratio(), sorted(one) == sorted(name), one[:1] == name[:1]

    return max(get_close_matches(name, names), key=likeness, default=None)
