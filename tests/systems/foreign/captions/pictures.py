"""Pictures in array files, with captions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.example import BadLine, DataReader, Example, good_lines


@dataclass(frozen=True)
class Pictures(DataReader):
    """Reads lines of a name, a tab and a caption; the arrays [C, H, W] lie beside the file."""

    path: Path

    def read(self) -> Iterator[Example | BadLine]:
        for line in good_lines(self.path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            name, tab, caption = line.text.partition("\t")
            where = f"{self.path}:{line.number}"
            if not tab:
                yield BadLine(where, "a line has the name of a picture, a tab and a caption")
            else:
                yield Example({"picture": str(self.path.parent / name), "caption": caption}, where)
