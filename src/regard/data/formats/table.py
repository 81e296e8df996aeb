"""Reader of TSV and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from regard.data.example import COLUMNS, BadLine, DataReader, Example, good_lines
from regard.data.formats.lines import LONGEST, Line
from regard.data.problems import DataError, shortened

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Table(DataReader):
    """One example per row; `columns` maps each field to its column, by index from 0 or by header name.

    CSV may have quoted values, also over several lines. TSV has no quotes: each tab separates columns.

    Args:
        path: the file.
        columns: mapping from field to column, {"source": 1, "target": 0} or {"source": "English", "target": "German"}.
        header: whether the first row contains column names; required if a column is specified by name.
        delimiter: None for a comma in .csv (and .csv.gz) and a tab in other files.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "pairs.csv"
    >>> _ = path.write_text('en,de\\n"Hi, you","Hallo, du"\\n')
    >>> [example.fields for example in Table(path, {"source": "de", "target": "en"}, header=True)]
    [{'source': 'Hallo, du', 'target': 'Hi, you'}]
    """

    path: str | Path
    columns: Mapping[str, int | str] = field(default_factory=lambda: {"source": 0, "target": 1})
    header: bool = field(default=False, kw_only=True)
    delimiter: str | None = field(default=None, kw_only=True)

    def settings(self) -> str:
        """Return the settings, including the delimiter derived from the file suffix."""
        return f"{super().settings()} by {self._separator()!r}"

    def asking(self, columns: Mapping[str, Any]) -> Self:
        return replace(self, columns=columns, questions=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per row with all columns."""
        path = Path(self.path)
        rows = self._rows(path)
        places = self._places(path, rows)
        for row in rows:
            yield row if isinstance(row, BadLine) else self._example(path, row, places)

    def _separator(self) -> str:
        plain = Path(self.path).name.removesuffix(".gz")
        return self.delimiter or ("," if plain.endswith(".csv") else "\t")

    def _rows(self, path: Path) -> Iterator[Row | BadLine]:
        if self._separator() == "\t":
            for line in good_lines(path, self.encoding, self.max_line):
                yield line if isinstance(line, BadLine) else (line.number, line.text.split("\t"))
        else:
            yield from _quoted(path, good_lines(path, self.encoding, self.max_line), self._separator(), self.max_line)

    def _places(self, path: Path, rows: Iterator[Row | BadLine]) -> dict[str, int]:
        """Return the column index of each field; consumes the header row."""
        names = [name for name in self.columns.values() if isinstance(name, str)]
        if names and not self.header:
            raise DataError(f"{path}: column {names[0]!r} is named, so set header to true, or give its number from 0")
        first = next(rows, None) if self.header else None
        if names and first is None:
            raise DataError(f"{path} is empty; its first line should name the columns")
        if isinstance(first, BadLine):
            raise DataError(f"{first.where}: {first.why}")
        heads = first[1] if first else []
        for name in names:
            if name not in heads:
                there = shortened(", ".join(heads) or "nothing", 400)
                raise DataError(f"{path}: there is no column {name!r}; its header has {there}; set {COLUMNS}")
        return {key: heads.index(at) if isinstance(at, str) else at for key, at in self.columns.items()}

    def _example(self, path: Path, row: Row, places: dict[str, int]) -> Example | BadLine:
        number, cells = row
        where = f"{path}:{number}"
        try:
            values = {name: cells[place] for name, place in places.items()}
        except IndexError:
            if self.questions and not any(cell.strip() for cell in cells):
                return Example(dict.fromkeys(places, ""), where)
            count = f"{len(cells)} column{'s' if len(cells) > 1 else ''}"
            why = f"the row has {count}, too few for column {max(places.values())} (the first is 0)"
            return BadLine(where, why, f"{COLUMNS}, or data.delimiter")
        blank = [name for name, value in values.items() if not (value.strip() or self.may_be_blank(name))]
        return BadLine(where, f"the column of {blank[0]} is blank") if blank else Example(dict(values), where)


def _quoted(path: Path, lines: Iterable[Line | BadLine], delimiter: str, longest: int) -> Iterator[Row | BadLine]:
    """Yield the rows of a CSV file, with the number of the line on which each starts."""
    bad: list[BadLine] = []
    fed: list[int] = []

    def feed() -> Iterator[str]:
        for line in lines:
            if isinstance(line, BadLine):
                bad.append(line)
            else:
                fed.append(line.number)
                yield line.text + "\n"

    rows = comma_separated(feed(), delimiter=delimiter, strict=True, longest=longest)
    while True:
        fed.clear()
        try:
            cells = next(rows)
        except StopIteration:
            yield from bad
            return
        except csv.Error as error:
            yield BadLine(f"{path}:{fed[0]}", f"this is not CSV: {error}")
            continue
        yield from bad
        bad.clear()
        if cells:
            yield fed[0], cells


def comma_separated(
    lines: Iterable[str], *, delimiter: str = ",", strict: bool = False, longest: int = LONGEST
) -> Iterator[list[str]]:
    """Parse CSV rows.

    Args:
        lines: the lines of a file.
        delimiter: separator between values.
        strict: whether unclosed quotes are an error.
        longest: maximum characters per value; the default of the `csv` module, 128 KiB, is too small for long texts.
    """
    csv.field_size_limit(longest)  # global to the process: the module has no other setting
    return csv.reader(lines, delimiter=delimiter, strict=strict)
