"""HTML builder that escapes all plain texts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from regard.view.text import visible


class Markup(str):
    """String of trusted HTML; any other string is escaped when it is inserted."""

    __slots__ = ()


Content = str | Iterable[str]
_VOID = frozenset({"br", "img", "meta", "link"})


def text(given: str) -> Markup:
    """Return untrusted text as HTML: escaped, without control characters, and isolated in its text direction.

    >>> text("<b>1</b> & \\x1b[2m")
    '<bdi>&lt;b&gt;1&lt;/b&gt; &amp; ␛[2m</bdi>'
    """
    return Markup(f"<bdi>{escape(visible(given))}</bdi>")


def element(name: str, /, *content: Content | None, **attributes: object) -> Markup:
    """Return an element; plain strings in its content are escaped, and None is omitted.

    Args:
        name: of the element.
        content: texts, markup, or several of them.
        attributes: an underscore at the end is dropped (`class_`), others become hyphens; None is left out, and True is
            an attribute without a value.

    >>> element("p", "1 < 2 ", element("b", "so"), class_="note", data_value=3, hidden=None)
    '<p class="note" data-value="3">1 &lt; 2 <b>so</b></p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    inside = "" if name in _VOID else f"{join_markup(*content)}</{name}>"
    return Markup(f"<{name}{written}>{inside}")


def join_markup(*content: Content | None) -> Markup:
    """Concatenate texts and markup.

    >>> join_markup("a&", Markup("<br>"), ["b", "c"])
    'a&amp;<br>bc'
    """
    parts: list[str] = []
    for one in content:
        if isinstance(one, str):
            parts.append(one if isinstance(one, Markup) else escape(visible(one)))
        elif one is not None:
            parts += [join_markup(part) for part in one]
    return Markup("".join(parts))


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'
