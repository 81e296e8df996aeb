"""Sections `data` of readers that plug-ins registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.recipes.data_section import FieldLayout
from regard.recipes.data_sections import SplitFiles
from regard.recipes.plugins import plugin_sources
from regard.registry import Registered, registered

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples


class PluginFiles(SplitFiles):
    """Data of files that a reader of a plug-in reads."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        own = self.model_dump(exclude={*SplitFiles.model_fields, "format"})
        made: DataReader = self._registered().made(
            self._path(named), target_kind=reading.target_kind, **own, **self.reading()
        )
        return made

    def _adapted(self, named: Any, reading: FieldLayout) -> Examples:
        """The examples, held to the fields of the task; their cache knows the source of the reader."""
        from regard.data.formats.foreign import ForeignExamples

        one = self._registered()
        needed = (reading.question,) if reading.answer is None else (reading.question, reading.answer)
        source = plugin_sources((one.module,))[one.module]["hash"]
        return ForeignExamples(super()._adapted(named, reading), one.name, needed, source)

    def _registered(self) -> Registered:
        return registered("reader")[self.format]
