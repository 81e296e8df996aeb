"""Reader of JSON Lines: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from regard.data.example import COLUMNS, BadLine, DataReader, Example, Value, good_lines


@dataclass(frozen=True)
class Jsonl(DataReader):
    """Fields from the keys of JSON objects, one object per line; blank lines are skipped.

    A value is a text or a list of texts (words, tags). Numbers and booleans are converted to text, for use as labels.

    Args:
        path: the file.
        keys: mapping from field to key, {"source": "body", "target": "subject"}.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "mail.jsonl"
    >>> _ = path.write_text('{"body": "See you at ten.", "spam": 0}\\n')
    >>> [example.fields for example in Jsonl(path, {"text": "body", "label": "spam"})]
    [{'text': 'See you at ten.', 'label': '0'}]
    """

    path: str | Path
    keys: Mapping[str, str] = field(default_factory=lambda: {"source": "source", "target": "target"})

    def asking(self, columns: Mapping[str, Any]) -> Self:
        return replace(self, keys=columns, questions=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per object with all keys."""
        for found, where in json_lines(Path(self.path), self.encoding, self.max_line):
            if isinstance(found, BadLine):
                yield found
            else:
                yield select_fields(found, self.keys, where, self.may_be_blank)


def json_lines(path: Path, encoding: str, longest: int) -> Iterator[tuple[dict[str, Any] | BadLine, str]]:
    """Yield the object (or bad line) and the location of each line that is not blank."""
    for line in good_lines(path, encoding, longest):
        if isinstance(line, BadLine):
            yield line, line.where
        elif line.text.strip():
            where = f"{path}:{line.number}"
            yield json_object(line.text, where), where


def json_object(text: str, where: str) -> dict[str, Any] | BadLine:
    """Parse the JSON object of a line."""
    try:
        found = parsed_json(text)
    except ValueError as error:
        return BadLine(where, f"this is not JSON: {error}")
    return found if isinstance(found, dict) else BadLine(where, "this is JSON, but not an object {...}")


def parsed_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: the text is not valid JSON, or not representable in Python.

    >>> parsed_json("[1, 2")
    Traceback (most recent call last):
    ValueError: Expecting ',' delimiter at column 6
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise ValueError(f"{error.msg} at {line}column {error.colno}") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:  # Python rejects integers of more than 4,300 digits
        raise ValueError("it has a number of thousands of digits") from None


def select_fields(
    found: Mapping[str, object], keys: Mapping[str, str], where: str, may_be_blank: Callable[[str], bool]
) -> Example | BadLine:
    """Extract the fields of an example from a mapping; some of them may be blank."""
    values: dict[str, Value] = {}
    for name, key in keys.items():
        if key not in found:
            return BadLine(where, f"there is no key {key!r} among {', '.join(found) or 'none'}", COLUMNS)
        value = _value(found[key])
        if value is None:
            return BadLine(where, f"the value of {key!r} is neither text nor a list of texts")
        if not (value.strip() if isinstance(value, str) else value) and not may_be_blank(name):
            return BadLine(where, f"the value of {key!r} is blank")
        values[name] = value
    return Example(values, where)


def _value(found: object) -> Value | None:
    if isinstance(found, str):
        return found
    if isinstance(found, (bool, int, float)):
        return json.dumps(found)
    if isinstance(found, list) and all(isinstance(item, str) for item in found):
        return list(found)
    return None
