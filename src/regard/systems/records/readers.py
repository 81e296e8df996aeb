"""Parsers of records, written as `name[The Eagle], food[Thai]` or as JSON objects, and readers of record files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.jsonl import json_lines, parsed_json

_LONGEST = 10_000  # characters of a record and its text
_BRACKETED = re.compile(r"\s*([^\[\],]+?)\s*\[([^\]]*)\]\s*(?:,|$)")


def read_record(text: str) -> dict[str, str]:
    """Parse a record from text.

    Raises:
        ValueError: the text is not a record, or a value is not a string, number or boolean.

    >>> read_record("name[The Eagle], food[Thai]")
    {'name': 'The Eagle', 'food': 'Thai'}
    >>> read_record('{"name": "The Eagle", "rooms": 7}')
    {'name': 'The Eagle', 'rooms': '7'}
    """
    if text.lstrip().startswith("{"):
        try:
            return plain_record(parsed_json(text))
        except ValueError as problem:
            raise ValueError(f"the record {text[:80]!r} cannot be read: {problem}") from None
    found, at, end = dict[str, str](), 0, len(text.rstrip())
    while at < end:
        match = _BRACKETED.match(text, at)
        if match is None:
            raise ValueError(f"{text[:80]!r} is no record; write 'name[The Eagle], food[Thai]' or a JSON object")
        if match[1] in found:
            raise ValueError(f"the record has the field {match[1]!r} twice; write it once")
        found[match[1]] = match[2]
        at = match.end()
    return plain_record(found)


def plain_record(given: Any) -> dict[str, str]:
    """Convert a mapping to a record of strings; numbers and booleans are converted to text.

    Raises:
        ValueError: the argument is not a mapping, it is empty, or a value is blank or nested.

    >>> plain_record({"name": {"first": "Ann"}})
    Traceback (most recent call last):
    ValueError: the value of 'name' is nested; give a text, a number, true or false
    """
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{str(given)[:80]!r} is no record; a record has one field or more, each with a value")
    found = {}
    for name, value in given.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            what = "empty" if value is None else "nested"
            raise ValueError(f"the value of {name!r} is {what}; give a text, a number, true or false")
        if not value.strip():
            raise ValueError(f"the value of {name!r} is blank; leave the field out")
        found[str(name)] = " ".join(value.split())
    return found


def record_json(record: Mapping[str, str]) -> str:
    """Serialise a record as JSON, an input of `predict`."""
    return json.dumps(dict(record), ensure_ascii=False)


@dataclass(frozen=True)
class E2E(DataReader):
    """Records and texts of the E2E challenge: CSV with the columns `mr` and `ref`, in any case.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "dev.csv"
    >>> _ = path.write_text('mr,ref\\n"name[The Eagle], food[Thai]","The Eagle is Thai."\\n')
    >>> [example.fields for example in E2E(path)]
    [{'record': {'name': 'The Eagle', 'food': 'Thai'}, 'text': 'The Eagle is Thai.'}]
    """

    path: Path

    def read(self) -> Iterator[Example | BadLine]:
        open_, number = "", 0  # a quoted CSV field may contain newlines
        for line in good_lines(self.path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            number = number if open_ else line.number
            text = f"{open_} {line.text}" if open_ else line.text
            if text.count('"') % 2 and len(text) < _LONGEST:
                open_ = text
                continue
            open_, cells = "", next(csv.reader([text]), [])
            if cells and (number != 1 or cells[0].lower() != "mr"):
                yield self._example(cells, f"{self.path}:{number}")
        if open_:
            yield BadLine(f"{self.path}:{number}", "a quotation mark is not closed")

    def _example(self, cells: list[str], where: str) -> Example | BadLine:
        if len(cells) != 2 and not self.questions:
            return BadLine(where, f"a line has a record and a text; here are {len(cells)} cells")
        try:
            record = read_record(cells[0])
        except ValueError as problem:
            return BadLine(where, str(problem))
        text = cells[1].strip() if len(cells) > 1 else ""
        if not text and not self.questions:
            return BadLine(where, "the text is blank")
        return Example({"record": record, "text": text}, where)


@dataclass(frozen=True)
class Records(DataReader):
    """Reader of JSON lines, each an object with a record and its text or a list of texts.

    Args:
        path: the file.
        keys: JSON keys of the record and of the text.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "own.jsonl"
    >>> _ = path.write_text('{"record": {"city": "Rome", "sun": true}, "text": "Sun in Rome."}\\n')
    >>> [example.fields for example in Records(path)]
    [{'record': {'city': 'Rome', 'sun': 'yes'}, 'text': 'Sun in Rome.'}]
    """

    path: Path
    keys: tuple[str, str] = field(default=("record", "text"), kw_only=True)

    def read(self) -> Iterator[Example | BadLine]:
        for found, where in json_lines(self.path, self.encoding, self.max_line):
            if isinstance(found, BadLine):
                yield found
            else:
                yield from self._examples(found, where)

    def _examples(self, found: dict[str, Any], where: str) -> Iterator[Example | BadLine]:
        missing = next((key for key in self.keys if key not in found), None)
        if missing is not None:
            yield BadLine(where, f"there is no key {missing!r} among {', '.join(found)}", "data.record and data.text")
            return
        record, texts = found[self.keys[0]], found[self.keys[1]]
        texts = texts if isinstance(texts, list) else [texts]
        try:
            record = plain_record(record)
        except ValueError as problem:
            yield BadLine(where, str(problem))
            return
        if not texts or not all(isinstance(one, str) and one.strip() for one in texts):
            yield BadLine(where, f"the value of {self.keys[1]!r} is no text, or blank")
            return
        for one in texts:
            yield Example({"record": record, "text": one}, where)
