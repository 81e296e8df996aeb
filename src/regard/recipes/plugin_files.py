"""Base of the sections `data` for readers of plug-ins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.data.example import Example, WrappedExamples
from regard.data.problems import DataError
from regard.recipes.data_section import FieldLayout
from regard.recipes.data_sections import SplitFiles
from regard.recipes.plugins import plugin_sources
from regard.registry import Registered, registered

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples


class PluginFiles(SplitFiles):
    """Data files with a reader of a plug-in."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        own = self.model_dump(exclude={*SplitFiles.model_fields, "format"})
        made: DataReader = self._registered().made(
            self._path(named), target_kind=reading.target_kind, **own, **self.reading()
        )
        return made

    def _adapted(self, named: Any, reading: FieldLayout) -> Examples:
        """Return the examples, checked for the fields of the task; their cache key includes the reader's source."""
        one = self._registered()
        needed = (reading.question,) if reading.answer is None else (reading.question, reading.answer)
        source = plugin_sources((one.module,))[one.module]["hash"]
        return ForeignExamples(super()._adapted(named, reading), one.name, needed, source)

    def _registered(self) -> Registered:
        return registered("reader")[self.format]


@dataclass(frozen=True)
class ForeignExamples(WrappedExamples):
    """Examples checked for the fields of a task, whose cache key includes the source code of their reader.

    Args:
        examples: examples of the reader.
        reader: its name in recipes.
        needed: fields that each example must have.
        source: the hash of the reader's source.
    """

    reader: str
    needed: tuple[str, ...]
    source: str

    def settings(self) -> str:
        """Return the settings of the reader and the hash of its source."""
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
