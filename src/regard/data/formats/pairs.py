"""Reader of parallel text: two files aligned by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from regard.data.example import BadLine, DataReader, Example
from regard.data.formats.lines import Line, lines
from regard.data.problems import DataError


@dataclass(frozen=True)
class Pairs(DataReader):
    """Parallel text: line n of `source` corresponds to line n of `target`; fields "source" and "target".

    A line that is blank on either side is bad. Files with different numbers of lines are always an error, since their
    alignment is unknown.

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "a.de").write_text("ein Haus\\nzwei\\n"), (folder / "a.en").write_text("a house\\ntwo\\n")
    >>> [example.fields for example in Pairs(folder / "a.de", folder / "a.en")]
    [{'source': 'ein Haus', 'target': 'a house'}, {'source': 'zwei', 'target': 'two'}]
    """

    PATHS: ClassVar[tuple[str, ...]] = ("source", "target")

    source: str | Path
    target: str | Path

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per pair of lines."""
        left, right = self.files
        for one, other in zip_longest(self._lines(left), self._lines(right)):
            if one is None or other is None:
                raise DataError(self._mismatch())
            problem = _problem(left, one) or _problem(right, other)
            yield problem or Example({"source": one.text, "target": other.text}, f"{left}:{one.number}")

    def check(self) -> None:
        """Raise DataError if the files have different numbers of lines; their content is not checked."""
        counts = [sum(1 for _ in self._lines(path)) for path in self.files]
        if counts[0] != counts[1]:
            raise DataError(self._mismatch(counts))

    def _lines(self, path: Path) -> Iterator[Line]:
        return lines(path, self.encoding, self.max_line)

    def _mismatch(self, counts: Sequence[int] = ()) -> str:
        counts = counts or [sum(1 for _ in self._lines(path)) for path in self.files]
        left, right = self.files
        return f"{left} has {counts[0]} lines and {right} has {counts[1]}; line n must belong to line n"


def _problem(path: Path, line: Line) -> BadLine | None:
    if line.problem is None and line.text.strip():
        return None
    return BadLine(f"{path}:{line.number}", line.problem or "the line is blank")
