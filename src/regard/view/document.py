"""Pages of HTML with views in them: one file, no script, style, font or host from outside."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from regard.explain.panel import Panel
from regard.view.blobs import Blobs
from regard.view.payload import payload
from regard.view.style import Style
from regard.view.table import table
from regard.view.text import visible
from regard.view.view import View

_SCRIPTS = (
    "inflate.js",
    "colours.js",
    "canvas.js",
    "data.js",
    "heatmap.js",
    "lines.js",
    "birdseye.js",
    "neurons.js",
    "curves.js",
    "pictures.js",
    "tree.js",
    "words.js",
    "table.js",
    "viewer.js",
)
"""In the order in which they need each other."""
_FIRST_STRONG = "\u2068"  # begins what `isolated` isolates


class Document:
    """A page that holds several views, and other pieces of HTML between them.

    The page allows its own script and style alone, by their hashes. Nothing of a view's text is markup.

    >>> import torch
    >>> page = Document("a <b>").add([Panel("weights", torch.eye(2))]).html()
    >>> "<title>a &lt;b&gt;</title>" in page, "://" in page
    (True, False)
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []
        self._sections = 0
        self._titled = False

    def add(self, view: View | Sequence[Panel]) -> Document:
        """Append a view."""
        view = view if isinstance(view, View) else View(tuple(view))
        for panel in view.panels:
            self._sections += 1
            same = not self._parts and panel.title == self.title  # the title of the page is not repeated
            alone = same and len(view.panels) == 1
            self._titled |= alone
            key, level = f"v{self._sections}", 1 if alone else 2
            self._parts.append(_section(panel, key, view.style, level=level, titled=alone or not same))
        return self

    def insert(self, fragment: str) -> Document:
        """Append a piece of HTML as it is: whoever gives it has escaped the texts in it."""
        self._parts.append(fragment)
        return self

    def html(self, *, more_style: str = "") -> str:
        """Return the page.

        Args:
            more_style: CSS behind that of the views.
        """
        css, code = style() + more_style, script()
        head = (
            f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy(code, css)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>{escape(visible(self.title))}</title>'
            f"<style>{css}</style>"
        )
        body = "\n".join(self._parts)
        title = f"<h1>{_directed(self.title)}</h1>\n"
        heading = "" if self._titled else title
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body class="regard-page"><main>{heading}{body}\n'
            f'</main><script type="module">{code}</script></body></html>\n'
        )


def section(
    panels: Sequence[Panel], *, key: str, style_first: Style | None = None, level: int = 2, titled: bool = True
) -> str:
    """Return panels as one `<section>` each, for a page with `style()` and `script()` in it.

    Without a script it shows titles and tables of the largest weights.

    Args:
        panels: what is drawn.
        key: under which the state of the view stands in the address of the page; another for each section of a page.
        style_first: what is drawn first, of panels that can be drawn in several ways.
        level: of the headings.
        titled: show the titles; else only screen readers find them, of a view below a heading that says the same.
    """
    return "\n".join(
        _section(panel, key if len(panels) == 1 else f"{key}-{number}", style_first, level=level, titled=titled)
        for number, panel in enumerate(panels, start=1)
    )


def _section(panel: Panel, key: str, style_first: Style | None, *, level: int = 2, titled: bool = True) -> str:
    blobs = Blobs()
    described = payload(panel, blobs, first=style_first)
    hidden = "" if titled else ' class="regard-unseen"'
    return (
        f'<section class="regard" id="{escape(key)}" aria-labelledby="{escape(key)}-title">'
        f'<h{level} id="{escape(key)}-title"{hidden}>{_directed(panel.title)}</h{level}>\n'
        f'<div class="regard-view"></div>\n{table(panel)}\n'
        f'<script type="application/json" class="regard-panel">{as_json(described)}</script>\n'
        f'<script type="text/plain" class="regard-blobs">{blobs.text()}</script></section>'
    )


def _directed(title: str) -> str:
    """Return a title in its own direction; one of several texts, which are isolated, runs from left to right.

    By its first letter "\u05d0 → a" would run from right to left, and the arrow would point from the answer to the
    input.
    """
    direction = "ltr" if _FIRST_STRONG in title else "auto"
    return f'<bdi dir="{direction}">{escape(visible(title))}</bdi>'


def as_json(value: object) -> str:
    """Return JSON that can stand in a `<script>`: no end of a script, no comment and no line separator in it.

    >>> as_json("</script><!--")
    '"\\\\u003c/script\\\\u003e\\\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for one in "<>&\u2028\u2029":
        text = text.replace(one, f"\\u{ord(one):04x}")
    return text


@cache
def style() -> str:
    """Return the CSS that all views of a page share."""
    return _asset("style.css")


@cache
def script() -> str:
    """Return the JavaScript that all views of a page share, a module without imports."""
    return "\n".join(_joined(_asset(name)) for name in _SCRIPTS)


def policy(code: str, css: str) -> str:
    """Return a Content-Security-Policy for a page with one script and one style, and nothing from outside."""
    return (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(css)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return files("regard.view").joinpath("assets", name).read_text(encoding="utf-8")


def _joined(source: str) -> str:
    """Return a module as a part of a larger one: a scope of its own, out of which come the names that it exports."""
    body = re.sub(r"^import .*;\n", "", source, flags=re.MULTILINE)
    names = ", ".join(re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", body, flags=re.MULTILINE))
    inside = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    return f"const {{ {names} }} = (() => {{\n{inside}\nreturn {{ {names} }};\n}})();"
