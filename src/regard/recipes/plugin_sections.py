"""Sections `data` for readers of plug-ins, derived from their constructors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from regard.recipes.argument_sections import nest_errors, section_with
from regard.recipes.plugins import is_in_scope
from regard.recipes.section import Section
from regard.recipes.source import class_source
from regard.registry import Registered, registered

_GIVEN = frozenset(("path", "encoding", "max_line", "bad_lines", "questions", "target_kind"))
"""Arguments of a reader that keys of all file formats set."""


@dataclass(frozen=True)
class PluginUnion:
    """Metadata that extends the union of sections `data` by those of plug-ins."""

    def sections(self) -> dict[str, type[Section]]:
        """Return the sections of the current recipe's plug-ins by format name."""
        return {name: section_of(one) for name, one in registered("reader").items() if is_in_scope(one.module)}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_it_is = core_schema.wrap_serializer_function_ser_schema(  # the union cannot serialise sections of plug-ins
            lambda value, inner: inner(value), schema=core_schema.any_schema()
        )
        return core_schema.no_info_wrap_validator_function(self._validated, handler(source), serialization=as_it_is)

    def _validated(self, given: Any, inner: Callable[[Any], Any]) -> Any:
        name = given.get("format") if isinstance(given, dict) else given
        found = self.sections().get(name) if isinstance(name, str) else None
        if found is None:
            return inner(given)
        try:
            return found.model_validate({"format": given} if isinstance(given, str) else given)
        except ValidationError as problem:
            raise nest_errors(str(name), problem, found) from None


@lru_cache
def section_of(one: Registered) -> type[Section]:
    """Return the section whose keys are the arguments of a reader.

    Raises:
        ValueError: an argument has a type that YAML cannot express.
    """
    from regard.recipes.plugin_files import PluginFiles

    if one.made.PATHS != ("path",):
        raise ValueError(
            f"{one.module}: the reader {one.name} has the files {one.made.PATHS}; a recipe gives it 'path'"
        )
    source = class_source(f"{one.module}:{one.made.__qualname__}")
    tag = {"format": (Literal[one.name], Field(description="Selects this kind of data."))}
    return section_with(source, tag, [key for key in source.arguments() if key.name not in _GIVEN], base=PluginFiles)
