"""Texts as Markdown shows them."""

from __future__ import annotations

import re

from regard.view.control_characters import visible


def cell(text: str) -> str:
    r"""Return a text as a cell of a table: nothing in it is markup, and a line end stays in its cell.

    >>> print(cell("a|b <unk> *c*\nd"))
    a\|b &lt;unk> \*c\*<br>d
    """
    plain = re.sub(r"[\\`*_\[\]|~$]", r"\\\g<0>", visible(text).replace("&", "&amp;").replace("<", "&lt;"))
    return "<br>".join(plain.splitlines())
