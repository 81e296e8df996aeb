"""Vocabulary pieces: conversion to bytes and to printable text."""

from __future__ import annotations

import re
from functools import cache

_BYTE = re.compile("<0x([0-9A-F]{2})>")
_SHOWN = {" ": "▁", "\n": "⏎", "\t": "⇥"}


def piece_bytes(token: str, marks: str) -> bytes:
    """Return the bytes of text that a piece of the tokenizers library represents.

    Args:
        token: the piece.
        marks: the spelling of pieces, see `regard.data.fields.tokenizer_style.Marks`.

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
    """Return a piece in printable form: visible white space, and hexadecimal for bytes that are not valid UTF-8.

    >>> printable(b" h\\xc3\\xb6r"), printable(b"\\xc3")
    ('▁hör', '\\\\xc3')
    """
    text = piece.decode("utf-8", "backslashreplace")
    return "".join(_SHOWN.get(c, c if c.isprintable() else c.encode("unicode_escape").decode()) for c in text)


@cache
def byte_of() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary represents.

    Printable Latin-1 characters represent their own byte; those from U+0100 represent the other bytes in order.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}
