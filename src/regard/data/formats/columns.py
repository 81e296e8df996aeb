"""Reader of tagged words in columns, as in the CoNLL shared tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from regard.data.example import COLUMNS, BadLine, DataReader, Example, Value, good_lines


@dataclass(frozen=True)
class Columns(DataReader):
    """One word per line with its tags in columns, blank lines between sentences; fields are lists, one entry per word.

    A bad line makes its whole sentence bad.

    Args:
        path: the file.
        columns: mapping from field to column index (negative from the end): {"text": 0, "tags": 1}.
        separator: separator between columns; None for any white space.
        comment: prefix of comment lines, which are skipped; None if there are none ("#" may be a word).

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "train.txt"
    >>> _ = path.write_text("He PRP B-NP\\nreckons VBZ B-VP\\n\\nSo IN O\\n")
    >>> [example.fields for example in Columns(path)]
    [{'text': ['He', 'reckons'], 'tags': ['PRP', 'VBZ']}, {'text': ['So'], 'tags': ['IN']}]
    """

    path: str | Path
    columns: Mapping[str, int] = field(default_factory=lambda: {"text": 0, "tags": 1})
    separator: str | None = field(default=None, kw_only=True)
    comment: str | None = field(default=None, kw_only=True)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        return replace(self, columns=columns, questions=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per sentence."""
        path = Path(self.path)
        block: list[list[str]] = []
        bad: BadLine | None = None
        start = 0
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                bad = bad or line
                continue
            if self.comment and line.text.startswith(self.comment):
                continue
            if line.text.strip():
                start = start or line.number
                cells = line.text.split(self.separator)
                bad = bad or self._problem(cells, f"{path}:{line.number}")
                block.append(cells)
            elif block or bad:
                yield bad or self._example(block, f"{path}:{start}")
                block, bad, start = [], None, 0
        if block or bad:
            yield bad or self._example(block, f"{path}:{start}")

    def _problem(self, cells: list[str], where: str) -> BadLine | None:
        for name, place in self.columns.items():
            if not -len(cells) <= place < len(cells):
                return BadLine(
                    where, f"the line has {len(cells)} columns, none at {place} for {name} (the first is 0)", COLUMNS
                )
        return None

    def _example(self, block: list[list[str]], where: str) -> Example:
        values: dict[str, Value] = {name: [cells[at] for cells in block] for name, at in self.columns.items()}
        return Example(values, where)
