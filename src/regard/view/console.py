"""Console for all terminal output of commands and runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from regard.view.text import visible


class Console(rich.console.Console):
    """Rich console that never interprets user texts as markup.

    On a terminal, control characters are replaced by visible symbols; a pipe gets them unchanged. Emoji codes such as
    `:name:` are not expanded.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Parse the markup of a text; rich measures cell widths here."""
        return super().render_str(visible(text) if self.is_terminal else text, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object; all texts pass through here, before rich adds its own escape codes."""
        for segment in super().render(renderable, options):
            if segment.control or not self.is_terminal:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)
