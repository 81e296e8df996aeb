"""The sentence for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(where: str, what: str, name: str, known: Iterable[str]) -> ValueError:
    """An error that names the nearest valid one.

    >>> str(unknown("evaluate", "metric", "blue", ["bleu", "ter"]))
    "evaluate: there is no metric 'blue'; did you mean 'bleu'? There are bleu, ter"
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return ValueError(f"{where}: there is no {what} {name!r}{hint} There are {', '.join(names)}")
