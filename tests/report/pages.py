"""Pages as a test reads them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "br", "img", "link"}
_HEADINGS = ("h1", "h2", "h3")


class Page(HTMLParser):
    """Elements of a page, and what is wrong with them.

    Attributes:
        problems: a sentence each; none of a page that is well made.
        words: all its text but that of styles and scripts.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.problems += [f"<{name}> is not closed" for name in self._open]
        self.problems += [f"two elements have the id {name}" for name in set(self.ids) if self.ids.count(name) > 1]
        self.problems += [f"#{name} leads nowhere" for name in self.links if name not in self.ids]
        levels = [_HEADINGS.index(name) for name in self.headings]
        self.problems += [
            f"heading {level + 1} after {before + 1}" for before, level in pairwise(levels) if level > before + 1
        ]
        text = " ".join(self.words)
        self.problems += [f"the page says {word}" for word in ("nan", "inf", "None") if re.search(rf"\b{word}\b", text)]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self._open.append(tag)
        if tag in _HEADINGS:
            self.headings.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(str(value))
            if name == "href" and str(value).startswith("#"):
                self.links.append(str(value)[1:])
            elif name in ("src", "href", "srcset", "action") and not str(value).startswith("data:"):
                self.problems.append(f"{name} leads outside: {value}")
            if name.startswith("on"):
                self.problems.append(f"a script in the attribute {name}")
        if tag == "svg" and not dict(attributes).get("aria-label"):
            self.problems.append("a picture without a label")
        if tag == "img" and not dict(attributes).get("alt"):
            self.problems.append("an image without a text")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes another element")

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self.words.append(data)

    @property
    def text(self) -> str:
        """All words, with single spaces."""
        return " ".join(" ".join(self.words).split())
