"""Base class of all sections of a recipe."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

S = TypeVar("S", bound="Section")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "null"}


class Section(BaseModel):
    """Section of a recipe: unknown keys are errors, types are not converted, and numbers are finite.

    Attributes:
        place: "module:Class" whose constructor defines the keys; empty if the section defines them.
        beside: names of dataclasses whose fields are additional keys.
    """

    place: ClassVar[str] = ""
    beside: ClassVar[tuple[str, ...]] = ()

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        """Reject text for numbers and numbers for booleans, which pydantic would convert."""
        for name, value in given.items() if isinstance(given, dict) else ():
            kinds = _kinds(cls.model_fields[name].annotation) if name in cls.model_fields else ()
            if not _suits(value, kinds):
                wanted = PydanticCustomError("plain", f"it should be {' or '.join(_WORDS[kind] for kind in kinds)}")
                details = InitErrorDetails(type=wanted, loc=(name,), input=value)
                raise ValidationError.from_exception_data(cls.__name__, [details])
        return given


class Model(Section):
    """Section `model`: `kind`, which selects the model, and the arguments of its constructor."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """Name of the model."""

        def __getattr__(self, key: str) -> Any:
            """Return the value of an argument."""

    def arguments(self, *, scale: float | None = None) -> dict[str, Any]:
        """Return the arguments as plain values, without `kind` and without null, which means the constructor's default.

        Args:
            scale: embedding scale if the recipe does not set one; None for the constructor's default.
        """
        given = self.model_dump(exclude_unset=True, exclude_none=True, exclude={"kind"})
        return given if scale is None else _with_scale(given, self, scale)


def own_keys(section: object, mixin: type[S]) -> S:
    """Cast a shared section to a system's extension of it, which is its type in recipes of that system."""
    assert isinstance(section, mixin)
    return section


def parts(section: Section) -> Iterator[Section]:
    """Yield a section and all sections inside it."""
    yield section
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from parts(value)


def _with_scale(given: dict[str, Any], section: Section, scale: float) -> dict[str, Any]:
    """Return the arguments of a section and its inner sections, with the default embedding scale filled in."""
    found = {**given}
    for name in type(section).model_fields:
        value = getattr(section, name)
        if name == "scale" and value is None:
            found[name] = scale
        elif isinstance(value, Section):
            inner = _with_scale(given.get(name, {}), value, scale)
            found |= {name: inner} if inner else {}
    return found


def _suits(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Return True if a plain value has one of these plain types; pydantic checks all others."""
    if not kinds or not set(kinds) <= set(_WORDS) or not isinstance(value, bool | int | float | str):
        return True
    if isinstance(value, bool):
        return bool in kinds
    return not isinstance(value, str) and (int in kinds or float in kinds)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows, such as `int | None`, without bounds."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _kinds(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return tuple(kind for part in typing.get_args(annotation) for kind in _kinds(part))
    return (annotation,)
