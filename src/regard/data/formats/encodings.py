"""Encodings: suggestions for undecodable bytes, and detection of characters that cannot be encoded."""

from __future__ import annotations

import re

# Accented letters of Western Europe are isolated among ASCII; letters of other scripts are adjacent to each other.
_ALONE = ("utf-8", "cp1252", "cp1250", "latin-1")
_SIDE_BY_SIDE = ("utf-8", "shift_jis", "euc_kr", "gb18030", "cp1251", "cp1253", "cp1252", "latin-1")
_MOST = 4
_RUN = re.compile(rb"[\x80-\xff]{3,}")


def plausible_encodings(raw: bytes, place: int) -> dict[str, str]:
    r"""Return plausible encodings of a line, most likely first, each with the word that it decodes at a position.

    An encoding is plausible if it decodes the whole line to printable characters. Duplicate words are listed once.

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
    r"""Return the index of the first lone surrogate in a text; None if there is none.

    They come from JSON such as `"\ud800"` and from bytes on the command line that are not UTF-8. Tokenizers reject such
    a text, and it cannot be written to a file.

    >>> lone_surrogate("caf\udce9"), lone_surrogate("café"), lone_surrogate("\U0001f600")
    (3, None, None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        return problem.start
    return None
