"""The console that commands and runs print with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from regard.view.text import visible


class Console(rich.console.Console):
    """Rich's console, on which texts of users and files are texts.

    On a terminal their control characters are made visible; a pipe gets them as they are. `:name:` is no emoji.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Read the markup of a text; here the width of a cell is measured."""
        return super().render_str(visible(text) if self.is_terminal else text, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render something; all texts pass here, and none of rich's own escape codes do."""
        for segment in super().render(renderable, options):
            if segment.control or not self.is_terminal:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)
