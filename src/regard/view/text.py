"""Texts made safe to show on a terminal, beside others or in a Markdown table; and the suffixes of pictures."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}
_UNNAMED = dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), "\ufffd")  # no picture stands for these
_LAYOUT = "\n\t"


def visible(text: str) -> str:
    r"""Replace each control character, except line ends and tabs, by a visible symbol.

    An escape sequence in a label, a text or a file name could colour, clear or retitle a terminal, and inject input in
    some. The symbol has the width of one letter. A lone surrogate, which cannot be encoded, becomes "�".

    >>> visible("a \x1b[31mred\x1b[0m label\a\n")
    'a ␛[31mred␛[0m label␇\n'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


_SHOWN = {code: shown for code, shown in (_PICTURES | _UNNAMED).items() if chr(code) not in _LAYOUT}


_RIGHT_TO_LEFT = frozenset({"R", "AL", "RLE", "RLO", "RLI"})
_FIRST_STRONG, _POP = "\u2068", "\u2069"


def isolated(text: str) -> str:
    r"""Wrap a text in Unicode isolates if it contains right-to-left characters.

    Without them, the bidirectional algorithm would reorder adjacent arrows, numbers or texts.

    >>> isolated("abc"), isolated("\u05d0\u05d1")
    ('abc', '\u2068אב\u2069')
    """
    if text.isascii() or not any(unicodedata.bidirectional(one) in _RIGHT_TO_LEFT for one in text):
        return text
    return f"{_FIRST_STRONG}{text}{_POP}"


def cell(text: str) -> str:
    r"""Return a text as a cell of a table: nothing in it is markup, and a line end stays in its cell.

    >>> print(cell("a|b <unk> *c*\nd"))
    a\|b &lt;unk> \*c\*<br>d
    """
    plain = re.sub(r"[\\`*_\[\]|~$]", r"\\\g<0>", visible(text).replace("&", "&amp;").replace("<", "&lt;"))
    return "<br>".join(plain.splitlines())


def plain_name(name: str) -> str:
    """Return a name in which matplotlib finds no formula and no control character."""
    return visible(name).replace("$", r"\$")


SUFFIXES = (".png", ".svg", ".pdf", ".html", ".npz", ".json", ".safetensors", ".pharaoh")


def check_suffix(path: Path, suffix: str) -> None:
    """Raise ValueError if there is no such kind of picture.

    Args:
        path: of the picture.
        suffix: of the path, or the kind that was named instead.
    """
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: a picture's name ends in {', '.join(SUFFIXES)}")
