"""Sections of recipes derived from the constructors of models and their components, without importing them."""

from __future__ import annotations

import types
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, ValidationError, create_model, model_validator
from pydantic.errors import PydanticUserError
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    core_schema,
)

from regard.arguments import Choice, InRecipe, NotInRecipe, PartKind, Rule, Size, alternatives, apply_rules, marker
from regard.parts import PARTS
from regard.recipes.plugins import is_in_scope
from regard.recipes.section import Model, Section
from regard.recipes.source import Argument, ClassSource, Unimported, Unknown, class_source
from regard.registry import registered

_KNOWN = frozenset(typing.get_args(core_schema.ErrorType))
_TAGS: Mapping[PartKind, Literal["kind", "name"]] = {
    "model": "kind",
    "encoder_decoder": "kind",
    "encoder": "kind",
    "score": "name",
    "aligner": "name",
    "term": "name",
}
_NOUNS: Mapping[PartKind, str] = {"encoder_decoder": "model"}
_GIVEN: Mapping[PartKind, frozenset[str]] = {
    "score": frozenset(("query_dim", "key_dim", "num_heads", "terms", "impl")),
    "aligner": frozenset(("query_dim",)),
}
"""Arguments that an attention passes to its components."""
_FROM_ATTENTION = frozenset(("hidden_dim", "max_length"))
"""Arguments of a score that default to those of the attention."""
_DEFAULTS: Mapping[PartKind, str] = {"encoder": "rnn", "encoder_decoder": "bahdanau"}
"""Default component per kind, for mappings without `name` or `kind`."""

_ATTENDING = "regard.models.generator:AttendingDecoder"
_WRAPPER = "regard.models.copying:Copying"
"""Wrapper whose keys are added to those of models that attend to their source."""


@dataclass(frozen=True, eq=False)
class OneOf:
    """Metadata of a key with a union of sections, discriminated by `kind` or `name`; sections are derived on demand.

    Attributes:
        kind: kind of the components.
        places: "module:Class" of each component by name, without plug-ins.
    """

    kind: PartKind
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """Discriminator key of the union."""
        return _TAGS[self.kind]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the choices, including plug-ins of the current recipe."""
        return (*self.places, *self._plugged())

    def section(self, name: str) -> type[Section]:
        """Return the section of a choice."""
        return section_of({**self.places, **self._plugged()}[name], self.kind, name)

    def _plugged(self) -> dict[str, str]:
        if self.kind not in ("score", "aligner"):
            return {}
        known = registered(self.kind).items()
        return {name: f"{one.module}:{one.made.__name__}" for name, one in known if is_in_scope(one.module)}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_it_is = core_schema.wrap_serializer_function_ser_schema(
            lambda value, inner: inner(value), schema=core_schema.any_schema()
        )
        return core_schema.no_info_plain_validator_function(self._validated, serialization=as_it_is)

    def _validated(self, given: Any) -> Any:
        if isinstance(given, Section):
            return given
        if isinstance(given, str) and self.tag == "name":
            given = {"name": given}
        if not isinstance(given, dict):
            raise PydanticKnownError("model_attributes_type")
        default = _DEFAULTS.get(self.kind)
        if default is not None:
            given = {self.tag: default if default in self.places else self.names[0], **given}
        name = given.get(self.tag)
        if not isinstance(name, str) or name not in self.names:
            expected = {"tag": str(name), "expected_tags": ", ".join(map(repr, self.names))}
            raise PydanticKnownError("union_tag_invalid", {"discriminator": repr(self.tag), **expected})
        section = self.section(name)
        try:
            return section.model_validate(given)
        except ValidationError as problem:
            raise nest_errors(name, problem, section) from None


def section_of(place: str, kind: PartKind, name: str) -> type[Section]:
    """Return the section whose keys are the arguments of a constructor.

    Args:
        place: "module:Class".
        kind: kind of the component.
        name: its name in recipes.

    Raises:
        ValueError: an argument that no recipe could hold.
    """
    return _section_of(class_source(place), kind, name)


@lru_cache(maxsize=512)
def _section_of(source: ClassSource, kind: PartKind, name: str) -> type[Section]:
    noun = _NOUNS.get(kind, kind)
    tag: dict[str, Any] = {_TAGS[kind]: (Literal[name], Field(description=f"Selects this {noun}."))}
    arguments = [one for one in source.arguments() if not _given(one, kind)]
    if kind in ("model", "encoder_decoder") and any(one.place == _ATTENDING for one in source.ancestry()):
        arguments += [one for one in class_source(_WRAPPER).arguments() if not one.positional]
    base = Model if kind in ("model", "encoder_decoder") else Section
    return section_with(source, tag, arguments, kind=kind, base=base)


@lru_cache(maxsize=128)
def record_of(source: ClassSource) -> type[Section]:
    """Return the section whose keys are the fields of a dataclass."""
    return section_with(source, {}, source.arguments())


def section_with(
    source: ClassSource,
    tag: Mapping[str, Any],
    arguments: Sequence[Argument],
    *,
    kind: PartKind | None = None,
    base: type[Section] = Section,
) -> type[Section]:
    """Return a section with the arguments of a class as keys.

    Args:
        source: source of the class.
        tag: discriminator field, as an argument of `pydantic.create_model`.
        arguments: arguments that are keys of recipes.
        kind: kind of the component.
        base: base class of the section.

    Raises:
        ValueError: an argument that no recipe could hold.
    """
    fields: dict[str, Any] = dict(tag)
    rules, beside = list(source.rules()), list[str]()
    for one in arguments:
        record = _records(one.annotation)
        if one.name == "blocks" and record:
            rules += record[0].rules()
            beside += [parent.name for parent in record[0].ancestry()]
            fields |= {inner.name: made for inner in record[0].arguments() if (made := _key(inner, None)) is not None}
            continue
        made = _key(one, kind)
        if made is not None:
            choice = marker(one.annotation, Choice)
            fields[choice.key if choice is not None and choice.key else one.name] = made
    hold = _holding(tuple(rules))
    try:
        with warnings.catch_warnings():  # a key `copy` shadows a deprecated method of pydantic, which is unused
            warnings.filterwarnings("ignore", message='Field name "copy"')
            section = create_model(
                f"{source.name}Section",
                __base__=base,
                __doc__=source.label,
                __validators__={"_fitting": hold},
                **fields,
            )
    except PydanticUserError as problem:
        why = str(problem).partition("\n")[0]
        raise ValueError(f"{source.place} has an argument that no recipe can hold ({why})") from None
    section.place, section.beside = source.place, tuple(beside)
    return section


def _holding(rules: tuple[Rule, ...]) -> Any:
    """Return a validator that applies rules to the values of a section."""

    def hold(section: Section) -> Section:
        apply_rules(rules, section.model_dump())
        return section

    return model_validator(mode="after")(hold)


def _given(argument: Argument, kind: PartKind) -> bool:
    """Return True if the data determine an argument, or the attention passes it to its component."""
    if kind in _GIVEN or kind == "term":
        return argument.name in _GIVEN.get(kind, ())
    plain = not _records(argument.annotation) and marker(argument.annotation, Choice) is None
    return argument.positional and argument.default is ... and plain


def _key(argument: Argument, kind: PartKind | None) -> Any:
    """Return the type and the default of a key; None if the argument is not a key."""
    if argument.name.startswith("*") or marker(argument.annotation, NotInRecipe) is not None:
        return None
    if kind == "score" and argument.name in _FROM_ATTENTION:
        return Size | None, Field(None, description=argument.sentence)
    hint, default = _hint(argument.annotation), argument.default
    if hint is None:
        return None
    stated = marker(argument.annotation, InRecipe)
    if stated is not None:
        default, hint = stated.default, (hint | None if stated.default is None else hint)
    if isinstance(default, str) and (record := _records(argument.annotation)):
        section = record_of(record[0])
        first = next(iter(section.model_fields))
        hint = Annotated[section, BeforeValidator(_short(first, default))]
        default = section(**{first: default})
    if choice := _choice(argument.annotation):
        if default is ... and int in alternatives(argument.annotation):  # an integer: the default encoder's size
            return hint | None, Field(None, description=argument.sentence)
        if default is ... and choice.kind in _DEFAULTS:
            return hint, Field(default_factory=lambda: choice._validated({}), description=argument.sentence)
        if isinstance(default, str):
            return hint, Field(default_factory=lambda: choice._validated(default), description=argument.sentence)
    return hint, Field(default, description=argument.sentence)


def _hint(annotation: Any) -> Any:
    """Return the type of a key: the alternatives that YAML can express; None if there is none."""
    if (choice := _choice(annotation)) is not None:
        held: Any = Annotated[Any, choice]
        return held | None if types.NoneType in alternatives(annotation) else held
    found = [one for one in map(_alternative, alternatives(annotation)) if one is not None]
    if not found or found == [types.NoneType]:
        return None
    if any(isinstance(one, type) and issubclass(one, Section) for one in found):
        found = [one for one in found if one is not str and typing.get_origin(one) is not Literal]  # its short form
        found = [_shortened(one) for one in found]
    return Union[tuple(found)]  # noqa: UP007, of a tuple


def _alternative(annotation: Any) -> Any:
    """Return an alternative as a pydantic type; None if YAML cannot express it."""
    if isinstance(annotation, type) and issubclass(annotation, Unimported):
        return record_of(annotation.source) if annotation.source.is_record else None
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Sequence:
        entry = _hint(inner[0])
        several = types.GenericAlias(tuple, (entry, ...))
        return None if entry is None else Annotated[several, BeforeValidator(_empty_for_none)]
    if origin is Callable or _unknown(annotation):
        return None
    return annotation


def _empty_for_none(given: Any) -> Any:
    return () if given is None else given


def _unknown(annotation: Any) -> bool:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return issubclass(annotation, Unknown)
    return any(_unknown(part) for part in typing.get_args(annotation))


def _shortened(section: Any) -> Any:
    """Return a section that accepts the value of its first key as a short form."""
    if not (isinstance(section, type) and issubclass(section, Section)):
        return section
    return Annotated[section, BeforeValidator(_short(next(iter(section.model_fields)), None))]


def _short(key: str, default: str | None) -> Callable[[Any], Any]:
    """Return a function that expands a name to a mapping, and adds the default key to a mapping without it."""

    def spelled(given: Any) -> Any:
        if isinstance(given, str):
            return {key: given}
        return {key: default} | given if default is not None and isinstance(given, dict) else given

    return spelled


def _choice(annotation: Any) -> OneOf | None:
    """Return the components that a key chooses from; None if it is not a choice."""
    choice = marker(annotation, Choice)
    if choice is None:
        return None
    known = PARTS[choice.kind]
    return OneOf(choice.kind, {name: known[name] for name in choice.only or known})


def _records(annotation: Any) -> list[ClassSource]:
    """Return the dataclasses among the alternatives of an annotation."""
    classes = [one for one in alternatives(annotation) if isinstance(one, type) and issubclass(one, Unimported)]
    return [one.source for one in classes if one.source.is_record]


def nest_errors(name: str, problem: ValidationError, section: type[Section]) -> ValidationError:
    """Return the errors of a section with the key's name in their locations, as pydantic reports those of a union."""
    return ValidationError.from_exception_data(section.__name__, [_below(name, one) for one in problem.errors()])


def _below(name: str, error: ErrorDetails) -> InitErrorDetails:
    loc = (name, *error["loc"])
    if error["type"] in _KNOWN:
        return InitErrorDetails(type=error["type"], loc=loc, input=error["input"], ctx=error.get("ctx", {}))
    own = PydanticCustomError("of_a_part", "{what}", {"what": error["msg"]})
    return InitErrorDetails(type=own, loc=loc, input=error["input"])
