"""Encodings: guesses for bytes that the named one cannot decode, and characters that none can encode."""

from __future__ import annotations

import re

# Letters of Western Europe stand alone among ASCII; those of other scripts stand side by side.
_ALONE = ("utf-8", "cp1252", "cp1250", "latin-1")
_SIDE_BY_SIDE = ("utf-8", "shift_jis", "euc_kr", "gb18030", "cp1251", "cp1253", "cp1252", "latin-1")
_MOST = 4
_RUN = re.compile(rb"[\x80-\xff]{3,}")


def plausible_encodings(raw: bytes, place: int) -> dict[str, str]:
    r"""Return encodings that fit a line, each with the word that it reads at a place, the likeliest first.

    An encoding fits where it decodes the whole line to printable characters. Two that read the same word count once.

    >>> plausible_encodings("ein großes Café".encode("cp1252"), 14)
    {'cp1252': 'Café'}
    """
    begin, end = raw.rfind(b" ", 0, place) + 1, raw.find(b" ", place)
    word = raw[begin : end if end >= 0 else len(raw)]
    found: dict[str, str] = {}
    for encoding in _SIDE_BY_SIDE if _RUN.search(word) else _ALONE:
        read = _decoded(word, encoding)
        if len(found) < _MOST and read is not None and read not in found.values() and _fits(raw, encoding):
            found[encoding] = read
    return found


def _fits(raw: bytes, encoding: str) -> bool:
    text = _decoded(raw, encoding)
    return text is not None and text.replace("\t", "").isprintable()


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return None


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
