"""Surrogates without their other half: what Python can hold in a text, and no encoding can write."""

from __future__ import annotations


def lone_surrogate(text: str) -> int | None:
    r"""Return the place of the first surrogate in a text; None if there is none.

    JSON's `"\ud800"` makes one, and so does each byte on the command line that is not UTF-8. Tokenizers and files
    refuse such a text.

    >>> lone_surrogate("caf\udce9"), lone_surrogate("café"), lone_surrogate("\U0001f600")
    (3, None, None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        return problem.start
    return None
