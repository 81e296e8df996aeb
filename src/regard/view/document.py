"""Self-contained HTML pages with views: a single file without external scripts, styles or fonts."""

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
"""JavaScript modules in dependency order."""
_FIRST_STRONG = "\u2068"  # first character of a text from `isolated`


class Document:
    """HTML page with several views, and other HTML fragments between them.

    Its Content-Security-Policy allows only its own script and style, by hash. All texts of views are escaped.

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
        """Append an HTML fragment unchanged; the caller must escape its texts."""
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
    """Return one `<section>` per panel, for a page that includes `style()` and `script()`.

    Without a script it shows titles and tables of the largest weights.

    Args:
        panels: panels to draw.
        key: URL fragment key of the view's state; unique within a page.
        style_first: initial style of panels with several styles.
        level: heading level.
        titled: show the titles; otherwise they are only available to screen readers.
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
    """Return a title with its own text direction; a title of several isolated texts runs from left to right.

    By its first letter "\u05d0 → a" would run from right to left, and the arrow would point from the answer to the
    input.
    """
    direction = "ltr" if _FIRST_STRONG in title else "auto"
    return f'<bdi dir="{direction}">{escape(visible(title))}</bdi>'


def as_json(value: object) -> str:
    """Return JSON that is safe inside `<script>`: escapes script ends, comments and line separators.

    >>> as_json("</script><!--")
    '"\\\\u003c/script\\\\u003e\\\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for one in "<>&\u2028\u2029":
        text = text.replace(one, f"\\u{ord(one):04x}")
    return text


@cache
def style() -> str:
    """Return the CSS shared by all views of a page."""
    return _asset("style.css")


@cache
def script() -> str:
    """Return the JavaScript shared by all views of a page, as a module without imports."""
    return "\n".join(_joined(_asset(name)) for name in _SCRIPTS)


def policy(code: str, css: str) -> str:
    """Return a Content-Security-Policy that allows one script and one style, and no external resources."""
    return (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(css)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return files("regard.view").joinpath("assets", name).read_text(encoding="utf-8")


def _joined(source: str) -> str:
    """Wrap a module in its own scope within a bundle, and expose its exported names."""
    body = re.sub(r"^import .*;\n", "", source, flags=re.MULTILINE)
    names = ", ".join(re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", body, flags=re.MULTILINE))
    inside = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    return f"const {{ {names} }} = (() => {{\n{inside}\nreturn {{ {names} }};\n}})();"
