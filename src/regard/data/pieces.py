"""What a piece of a vocabulary stands for, in bytes and in pictures."""

from __future__ import annotations

from functools import cache

_SHOWN = {" ": "▁", "\n": "⏎", "\t": "⇥"}


def surface(token: str, kind: str) -> bytes:
    """The bytes of text behind a piece as the library writes it.

    >>> surface("ĠhÃ¶r", "bpe"), surface("▁hör", "unigram")
    (b' h\\xc3\\xb6r', b' h\\xc3\\xb6r')
    """
    if kind == "bpe":
        table = byte_of()
        return bytes(table[character] for character in token)
    if kind == "wordpiece":
        token = token.removeprefix("##") if token.startswith("##") else f" {token}"
    return (token.replace("▁", " ") if kind == "unigram" else token).encode("utf-8", "surrogatepass")


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
