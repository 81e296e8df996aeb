"""Control characters made visible: a terminal would obey them, whoever wrote the text that they stand in."""

from __future__ import annotations

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}
_UNNAMED = dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), "\ufffd")  # no picture stands for these
_LAYOUT = "\n\t"


def visible(text: str) -> str:
    r"""Return a text with a picture in the place of each control character but line ends and tabs.

    An escape sequence in a label, a text or the name of a file could colour, clear or retitle a terminal, and type
    into some. Its picture is as wide as one letter. Half of a surrogate pair, which cannot be written, becomes "�".

    >>> visible("a \x1b[31mred\x1b[0m label\a\n")
    'a ␛[31mred␛[0m label␇\n'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


_SHOWN = {code: shown for code, shown in (_PICTURES | _UNNAMED).items() if chr(code) not in _LAYOUT}
