"""Sections of recipes made of the constructors that plug-ins registered."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from regard.recipes.plugins import belongs
from regard.recipes.section import Section
from regard.registry import Kind, Registered, registered

_KNOWN = frozenset(typing.get_args(core_schema.ErrorType))
_WIDTH = Annotated[int | None, Field(None, ge=1, le=2**24)]
_GIVEN = {  # by the model, and by the keys that all data of files have
    "score": frozenset(("query_dim", "key_dim", "num_heads", "terms", "impl")),
    "aligner": frozenset(("query_dim",)),
    "reader": frozenset(("path", "encoding", "max_line", "bad_lines", "questions", "target_kind")),
}
_FROM_OUTSIDE = ("hidden_dim", "max_length")  # of a score, what the attention says where the score does not


@dataclass(frozen=True)
class Plugged:
    """Metadata of a union of sections that opens it to those of plug-ins.

    Attributes:
        kind: of what the union is.
        tag: the key that tells its sections apart.
    """

    kind: Kind
    tag: Literal["name", "format"] = "name"

    def sections(self) -> dict[str, type[Section]]:
        """Return those of the plug-ins that the recipe at hand names, by their names."""
        return {name: section_of(one, self.tag) for name, one in registered(self.kind).items() if belongs(one.module)}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_it_is = core_schema.wrap_serializer_function_ser_schema(  # the union does not know sections of plug-ins
            lambda value, inner: inner(value), schema=core_schema.any_schema()
        )
        return core_schema.no_info_wrap_validator_function(self._validated, handler(source), serialization=as_it_is)

    def _validated(self, given: Any, inner: Callable[[Any], Any]) -> Any:
        name = given.get(self.tag) if isinstance(given, dict) else given
        found = self.sections().get(name) if isinstance(name, str) else None
        if found is None:
            return inner(given)
        try:
            return found.model_validate({self.tag: given} if isinstance(given, str) else given)
        except ValidationError as problem:  # as the union says it of its own: under the name of the section
            errors = [_under(str(name), one) for one in problem.errors()]
            raise ValidationError.from_exception_data(found.__name__, errors) from None


@lru_cache
def section_of(one: Registered, tag: str) -> type[Section]:
    """Return the section whose keys are the arguments of a constructor.

    Raises:
        ValueError: an argument that no recipe could hold.
    """
    fields: dict[str, Any] = {tag: (Literal[one.name], Field(description="Says that it is this."))}
    fields |= _keys(one)
    base: type[Section] = Section
    if one.kind == "reader":
        from regard.recipes.plugin_files import PluggedFiles

        if one.made.PATHS != ("path",):
            raise ValueError(
                f"{one.module}: the reader {one.name} has the files {one.made.PATHS}; a recipe gives it 'path'"
            )
        base = PluggedFiles
    label = (inspect.getdoc(one.made) or one.name).partition("\n")[0]
    try:
        return create_model(f"{one.made.__name__}Section", __base__=base, __doc__=label, **fields)
    except PydanticUserError as problem:
        why = str(problem).partition("\n")[0]
        raise ValueError(f"{one.module}: {one.name} has an argument that no recipe can hold ({why})") from None


def tags(union: Any) -> set[str]:
    """Return what tells the sections of `Annotated[A | B, Field(discriminator=...), ...]` apart."""
    found: set[str] = set()
    for section in typing.get_args(typing.get_args(union)[0]):
        key = next(key for key in ("format", "name") if key in section.model_fields)
        found |= set(typing.get_args(section.model_fields[key].annotation))
    return found


def _keys(one: Registered) -> dict[str, Any]:
    """The arguments of a constructor as keys: type, and default or none."""
    found: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(one.made.__init__).parameters.items())[1:]:
        if name in _GIVEN[one.kind] or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if one.kind == "score" and name in _FROM_OUTSIDE:
            found[name] = (_WIDTH, None)
        else:
            found[name] = (_hint(one, parameter), ... if parameter.default is parameter.empty else parameter.default)
    return found


def _hint(one: Registered, parameter: inspect.Parameter) -> Any:
    """The type of an argument, one by one: those of a base class may be known to type checkers alone."""
    if parameter.annotation is parameter.empty:
        return Any
    names = {parameter.name: parameter.annotation}
    return typing.get_type_hints(SimpleNamespace(__annotations__=names), one.made.__init__.__globals__)[parameter.name]


def _under(name: str, error: ErrorDetails) -> InitErrorDetails:
    """An error of a section, to be raised again as that of a key of its name."""
    loc = (name, *error["loc"])
    if error["type"] in _KNOWN:
        return InitErrorDetails(type=error["type"], loc=loc, input=error["input"], ctx=error.get("ctx", {}))
    own = PydanticCustomError("of_a_plugin", "{what}", {"what": error["msg"]})
    return InitErrorDetails(type=own, loc=loc, input=error["input"])
