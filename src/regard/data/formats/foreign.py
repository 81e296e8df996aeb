"""Examples of a reader from outside the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.data.example import Example, WrappedExamples
from regard.data.problems import DataError


@dataclass(frozen=True)
class ForeignExamples(WrappedExamples):
    """Examples that are held to the fields of a task, and whose cache knows the source that made them.

    Args:
        examples: of the reader.
        reader: its name in recipes.
        needed: the fields that each example has.
        source: the hash of the reader's source.
    """

    reader: str
    needed: tuple[str, ...]
    source: str

    def settings(self) -> str:
        """Those of the reader, and its source."""
        return f"{self.examples.settings()} by {self.reader} {self.source}"

    def __iter__(self) -> Iterator[Example]:
        for example in self.examples:
            for name in self.needed:
                if name not in example.fields:
                    raise DataError(
                        f"{example.where}: the reader {self.reader} gives the fields {', '.join(example.fields)}; "
                        f"the task needs {' and '.join(self.needed)}"
                    )
            yield example
