"""Delexicalisation: placeholders for the values of some fields, in records and in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regard.data.example import Example, WrappedExamples

_OTHER = re.compile(r"\W|_")


def placeholder(name: str) -> str:
    """Return the placeholder for the value of a field, a single token.

    >>> placeholder("first name")
    'SLOTfirstname'
    """
    return f"SLOT{_OTHER.sub('', name)}"


def delexicalised(record: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return a record with placeholders for the values of some fields."""
    return {name: placeholder(name) if name in names else value for name, value in record.items()}


def without_values(text: str, record: Mapping[str, str], names: Sequence[str]) -> str:
    """Replace the values of some fields by placeholders, case-insensitively and longest values first.

    >>> without_values("At the bar THE BAR, ...", {"name": "The Bar", "area": "Bar"}, ["name"])
    'At SLOTname SLOTname, ...'
    """
    for name in sorted((name for name in names if name in record), key=lambda name: -len(record[name])):
        text = re.sub(rf"(?<!\w){re.escape(record[name])}(?!\w)", placeholder(name), text, flags=re.IGNORECASE)
    return text


def with_values(text: str, record: Mapping[str, str], names: Sequence[str]) -> str:
    """Replace placeholders by values; a placeholder is deleted if the record lacks its field.

    >>> with_values("slotname is here.", {"name": "The Eagle"}, ["name", "town"])
    'The Eagle is here.'
    """
    for name in sorted(names, key=lambda name: -len(name)):
        value = record.get(name, "")
        text = re.sub(rf"(?<!\w){placeholder(name)}(?!\w)", lambda _, value=value: value, text, flags=re.IGNORECASE)  # type: ignore[misc]
    return " ".join(text.split())


@dataclass(frozen=True)
class Delexicalised(WrappedExamples):
    """Examples with placeholders in place of the values of some fields.

    Attributes:
        names: names of the delexicalised fields.
    """

    names: tuple[str, ...]

    def settings(self) -> str:
        """The examples, and the fields."""
        return f"Delexicalised({self.examples.settings()}, {self.names})"

    def __iter__(self) -> Iterator[Example]:
        for example in self.examples:
            record, text = example.fields["record"], example.fields["text"]
            fields = {"record": delexicalised(record, self.names), "text": without_values(text, record, self.names)}
            yield example._replace(fields={**example.fields, **fields})
