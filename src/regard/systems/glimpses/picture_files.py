"""Reader of picture files whose labels are in a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.lines import Line
from regard.data.pictures.members import split_member
from regard.data.pictures.reading import PictureShape, read_pictures
from regard.data.problems import DataError


@dataclass(frozen=True)
class PictureFiles(DataReader):
    """Reads lines of picture name, tab and labels; names are relative to the folder of the table.

    Args:
        path: the table; pictures may also be members of an archive, `photos.zip:dog.jpg`.
        shape: target shape of all pictures.
        objects: maximum number of labels per picture; with 1, everything after the tab is one label.
    """

    path: Path
    shape: PictureShape
    objects: int = 1

    @property
    def files(self) -> tuple[Path, ...]:
        """The table and all existing pictures, so that a changed picture invalidates the cache."""
        found = [Path(split_member(self._source(line))[0]) for line in self._lines() if isinstance(line, Line)]
        return (self.path, *(path for path in dict.fromkeys(found) if path.is_file()))

    def read(self) -> Iterator[Example | BadLine]:
        pictures = read_pictures((self._source(line) for line in self._lines() if isinstance(line, Line)), self.shape)
        for line in self._lines():
            if isinstance(line, BadLine):
                yield line
                continue
            where, picture = f"{self.path}:{line.number}", next(pictures)
            labels = self._labels(line.text.partition("\t")[2])
            if isinstance(picture, DataError):
                yield BadLine(where, str(picture))
            elif not self.questions and not 1 <= len(labels) <= self.objects:
                most = "one label" if self.objects == 1 else f"1 to {self.objects} labels (data.objects)"
                yield BadLine(where, f"a line has the name of a picture, a tab and {most}; this has {len(labels)}")
            else:
                yield Example({"picture": picture, "labels": labels}, where)

    def _labels(self, text: str) -> list[str]:
        text = " ".join(text.split())
        return text.split() if self.objects > 1 else [text] if text else []

    def _lines(self) -> Iterator[Line | BadLine]:
        return good_lines(self.path, self.encoding, self.max_line)

    def _source(self, line: Line) -> str:
        return str(self.path.parent / line.text.partition("\t")[0])
