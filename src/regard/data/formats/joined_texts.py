"""Text pairs, joined to one text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.data.example import Example, Value, WrappedExamples

SECOND = "second"
"""Name of the field of the second text, before joining."""


@dataclass(frozen=True)
class JoinedTexts(WrappedExamples):
    """Examples whose fields "text" and "second" are joined by a tab, as tokenizers with `<mask>` expect text pairs.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from regard.data import Table
    >>> path = Path(mkdtemp()) / "pairs.tsv"
    >>> _ = path.write_text("A man sleeps\\tNobody is awake\\tyes\\n")
    >>> [example.fields for example in JoinedTexts(Table(path, {"text": 0, "second": 1, "label": 2}))]
    [{'text': 'A man sleeps\\tNobody is awake', 'label': 'yes'}]
    """

    def settings(self) -> str:
        """Return the settings of the wrapped examples."""
        return f"Joined({self.examples.settings()})"

    def __iter__(self) -> Iterator[Example]:
        for example in self.examples:
            rest = {name: value for name, value in example.fields.items() if name not in ("text", SECOND)}
            both = "\t".join(_plain(example.fields[name]) for name in ("text", SECOND))
            yield Example({"text": both, **rest}, example.where)


def _plain(value: Value) -> str:
    """Return a text without tabs."""
    return " ".join((value if isinstance(value, str) else " ".join(value)).split("\t"))
