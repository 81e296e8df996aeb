"""Self-contained HTML pages, readable offline and without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from regard.report.markup import Markup, element, join_markup, text
from regard.view.document import script as view_script
from regard.view.document import style as view_style


@dataclass(frozen=True)
class PageSection:
    """Part of a page with a heading.

    Attributes:
        name: the anchor, a single word.
        title: the heading.
        body: content below the heading.
    """

    name: str
    title: str
    body: Markup

    def shown(self) -> Markup:
        """Return the part with its heading."""
        heading = element("h2", self.title, id=f"{self.name}-title")
        return element("section", heading, self.body, id=self.name, aria_labelledby=f"{self.name}-title")


def document(title: str, lead: str, head: Markup, sections: Sequence[PageSection], made: str) -> str:
    """Return a page.

    Args:
        title: of the page.
        lead: a sentence below the title.
        head: content above the first section.
        sections: page sections in order.
        made: footer line with program and date.
    """
    style, script, views = _asset("report.css") + view_style(), _asset("sort.js"), view_script()
    links = [element("a", section.title, href=f"#{section.name}") for section in sections]
    opening = element(
        "header",
        element("h1", text(title)),
        element("p", text(lead), class_="lead"),
        head,
        element("nav", links, aria_label="Sections"),
    )
    whole = join_markup(
        Markup("<!doctype html>\n"),
        element(
            "html",
            element(
                "head",
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=_policy(script, views)),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("title", f"{title} · Regard"),
                element("style", Markup(style)),
            ),
            Markup("\n"),
            element(
                "body",
                opening,
                element("main", [join_markup(Markup("\n"), section.shown()) for section in sections]),
                element("footer", element("p", made)),
                element("script", Markup(script)),
                element("script", Markup(views), type="module"),
            ),
            lang="en",
        ),
    )
    return f"{whole}\n"


def tiles(found: Sequence[tuple[str, str, str]]) -> Markup:
    """Return tiles of key figures: name, value and detail of each."""
    return element(
        "ul",
        [
            element(
                "li",
                element("span", text(name), class_="name"),
                element("span", text(value), class_="value"),
                element("span", text(more), class_="more") if more else None,
            )
            for name, value, more in found
        ],
        class_="tiles",
    )


def paragraph(*content: str, kind: str | None = None) -> Markup:
    """Return a paragraph of texts and markup."""
    return element("p", *content, class_=kind)


@cache
def _asset(name: str) -> str:
    return (files("regard.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return a Content-Security-Policy without external resources; scripts are allowed by hash."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    named = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {named}; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
