"""Reader of plain text, for language models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regard.data.example import BadLine, DataReader, Example, good_lines


@dataclass(frozen=True)
class Text(DataReader):
    """One text per line: the field "text".

    Args:
        path: the file.
        blank: "drop" skips blank lines; "keep" yields them as empty texts (WikiText counts their end-of-sentence).
        ends: keep line ends and blank lines, so that the concatenated texts equal the file: for character-level models.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "play.txt"
    >>> _ = path.write_text("ROMEO:\\n\\nIt was the lark\\n")
    >>> [example.fields["text"] for example in Text(path)]
    ['ROMEO:', 'It was the lark']
    >>> [example.fields["text"] for example in Text(path, ends=True)]
    ['ROMEO:\\n', '\\n', 'It was the lark\\n']
    """

    path: str | Path
    blank: Literal["drop", "keep"] = field(default="drop", kw_only=True)
    ends: bool = field(default=False, kw_only=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per line."""
        path = Path(self.path)
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
            elif self.ends:
                yield Example({"text": line.text + "\n"}, f"{path}:{line.number}")
            elif line.text.strip() or self.blank == "keep":
                yield Example({"text": line.text}, f"{path}:{line.number}")
