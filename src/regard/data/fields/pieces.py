"""Pieces of a vocabulary: their bytes, and their form in pictures."""

from __future__ import annotations

import re
from functools import cache

_BYTE = re.compile("<0x([0-9A-F]{2})>")
_SHOWN = {" ": "▁", "\n": "⏎", "\t": "⇥"}


def piece_bytes(token: str, marks: str) -> bytes:
    """The bytes of text behind a piece as the library writes it.

    Args:
        token: the piece.
        marks: how it is spelt, see `regard.data.fields.tokenizer_style.Marks`.

    >>> piece_bytes("ĠhÃ¶r", "bytes"), piece_bytes("▁hör", "spaces"), piece_bytes("<0x41>", "fallback")
    (b' h\\xc3\\xb6r', b' h\\xc3\\xb6r', b'A')
    """
    table = byte_of()
    if marks == "bytes" and all(character in table for character in token):
        return bytes(table[character] for character in token)
    if marks == "fallback" and (byte := _BYTE.fullmatch(token)):
        return bytes.fromhex(byte[1])
    if marks == "inside":
        token = token.removeprefix("##") if token.startswith("##") else f" {token}"
    return (token.replace("▁", " ") if marks in ("spaces", "fallback") else token).encode("utf-8", "surrogatepass")


def printable(piece: bytes) -> str:
    """A piece as it can be shown: white space visible, bytes that are no character in hexadecimal.

    >>> printable(b" h\\xc3\\xb6r"), printable(b"\\xc3")
    ('▁hör', '\\\\xc3')
    """
    text = piece.decode("utf-8", "backslashreplace")
    return "".join(_SHOWN.get(c, c if c.isprintable() else c.encode("unicode_escape").decode()) for c in text)


@cache
def byte_of() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for.

    Printable bytes of Latin-1 stand for themselves; the others, in order, for the characters from U+0100 on.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}
