"""Types of constructor arguments with their ranges: one statement for type checkers, constructors and recipes.

A constructor states each argument once: its name, its type with the range, its default, and one sentence in the `Args:`
of its class. `checked` holds calls to it, and `regard.recipes` derives the keys of recipes from it. Without PyTorch.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field
from pydantic.fields import FieldInfo

from regard.nearest import nearest

PartKind = Literal["model", "encoder", "encoder_decoder", "score", "aligner", "term"]
LARGEST = 2**24
"""Largest size; a larger one is a slip of the finger, and its square exceeds PyTorch's integers."""

Size = Annotated[int, Field(ge=1, le=LARGEST)]
"""A width or a number of things, at least one."""
Count = Annotated[int, Field(ge=0)]
"""A number of things, perhaps none."""
Share = Annotated[float, Field(ge=0, lt=1)]
"""A probability of dropping something, below 1."""
Probability = Annotated[float, Field(ge=0, le=1)]
"""A probability."""
Factor = Annotated[float, Field(ge=0)]
"""A weight in a sum, at least 0."""
Scale = Annotated[float, Field(gt=0)]
"""A number above 0."""


@dataclass(frozen=True)
class InRecipe:
    """Marks an argument whose default in recipes differs from that of the constructor."""

    default: Any


@dataclass(frozen=True)
class NotInRecipe:
    """Marks an argument that is no key of recipes: the data or other arguments decide it."""


@dataclass(frozen=True)
class Choice:
    """Marks an argument that a recipe gives by the name of a part, or by a mapping of the name and its arguments.

    Attributes:
        kind: which parts there are to choose from (`regard.parts`).
        key: name of the key, where it is not that of the argument.
        only: names to choose from; all of them if it is empty.
    """

    kind: PartKind
    key: str | None = None
    only: tuple[str, ...] = ()


EmbeddingScale = Annotated[float, Field(gt=0), InRecipe(None)]
"""Largest initial entry of an embedding; a recipe leaves it to the tokenizer: 1 for characters, 0.1 otherwise."""
Spec = str | Mapping[str, Any]
"""A part by its name, or by a mapping with `name` and its own arguments."""
ScoreSpec = Annotated[Spec, Choice("score")]
AlignerSpec = Annotated[Spec, Choice("aligner")]
TermSpec = Annotated[Spec, Choice("term")]

Rule = Callable[..., None]
T = TypeVar("T", bound=Callable[..., Any])
M = TypeVar("M")

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a name", types.NoneType: "null"}


def checked(*rules: Rule) -> Callable[[T], T]:
    """Check the arguments of a constructor: types and ranges by their annotations, then rules between them.

    It decorates an `__init__`, or a dataclass whose fields are the arguments.

    Args:
        rules: of `regard.constraints`; each takes arguments by name. Fields of an argument `blocks` count as arguments.

    >>> class Window:
    ...     @checked()
    ...     def __init__(self, size: Size) -> None: ...
    >>> Window(0)
    Traceback (most recent call last):
    ValueError: Window: size must be at least 1; got 0
    """

    def decorate(made: T) -> T:
        if isinstance(made, type):
            made.__init__ = _checking(made.__init__, rules, made)  # type: ignore[misc]
            return made
        return typing.cast(T, _checking(made, rules, made))

    return decorate


def _checking(make: Callable[..., None], rules: tuple[Rule, ...], annotated: Any) -> Callable[..., None]:
    signature = inspect.signature(make)

    @cache
    def hints() -> dict[str, Any]:
        return typing.get_type_hints(annotated, include_extras=True)

    @wraps(make)
    def check_and_make(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            make(self, *args, **kwargs)  # Python's own message
            raise
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        owner, arguments = type(self).__name__, dict(given)
        for name, value in given:
            if name in hints():
                check_value(f"{owner}: {name}", value, hints()[name])
        if is_dataclass(blocks := arguments.get("blocks")):
            arguments |= {field.name: getattr(blocks, field.name) for field in fields(blocks)}
        apply_rules(rules, arguments)
        make(self, *args, **kwargs)

    return check_and_make


def apply_rules(rules: tuple[Rule, ...], arguments: Mapping[str, Any]) -> None:
    """Apply the rules whose parameters are all among the arguments."""
    for rule in rules:
        names = _parameters(rule)
        if all(name in arguments for name in names):
            rule(**{name: arguments[name] for name in names})


@cache
def _parameters(rule: Rule) -> tuple[str, ...]:
    return tuple(inspect.signature(rule).parameters)


def check_value(what: str, value: Any, annotation: Any) -> None:
    """Check a value against an annotation of plain types; what may be anything else is checked where it is used.

    Raises:
        ValueError: another type, a number outside the range, or none of the choices.

    >>> check_value("Dropout: rate", 1.0, Share)
    Traceback (most recent call last):
    ValueError: Dropout: rate must lie in [0, 1); got 1.0
    """
    ranges = _ranges(annotation)
    if not all(kind in _WORDS or typing.get_origin(kind) is Literal for kind, _ in ranges):
        return
    fitting = [bounds for kind, bounds in ranges if _is(value, kind)]
    if not fitting:
        choices = [repr(one) for kind, _ in ranges if kind not in _WORDS for one in typing.get_args(kind)]
        words = [_WORDS[kind] for kind, _ in ranges if kind in _WORDS]
        if choices:
            near = nearest(repr(value), choices)
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"{what} must be one of {', '.join(choices + words)}; got {value!r}{hint}")
        raise ValueError(f"{what} must be {' or '.join(words)}; got {value!r}")
    for bounds in fitting:
        if not bounds.hold(value):
            raise ValueError(f"{what} must {bounds}; got {value}")


@dataclass(frozen=True)
class Bounds:
    """The range of a number.

    Attributes:
        ge, gt, le, lt: limits that it is at least, above, at most and below; None for none.

    >>> str(Bounds(ge=0, lt=1)), str(Bounds(ge=1, le=LARGEST)), str(Bounds(gt=0))
    ('lie in [0, 1)', 'be at least 1', 'be above 0')
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    @classmethod
    def of(cls, metadata: tuple[Any, ...]) -> Bounds:
        """Return the range that metadata of an annotation state."""
        found: dict[str, float] = {}
        for one in metadata:
            for entry in one.metadata if isinstance(one, FieldInfo) else (one,):
                for name in ("ge", "gt", "le", "lt"):
                    if getattr(entry, name, None) is not None:
                        found[name] = getattr(entry, name)
        return cls(**found)

    def hold(self, value: Any) -> bool:
        """Return whether a value lies inside; NaN lies in no range."""
        if value is None or isinstance(value, str) or self == Bounds():
            return True
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    def __str__(self) -> str:
        low, high = self.ge if self.gt is None else self.gt, self.le if self.lt is None else self.lt
        below = "" if high is None or high == LARGEST else f"be {'at most' if self.lt is None else 'below'} {high:,g}"
        if low is None:
            return below
        if below:
            return f"lie in {'[' if self.gt is None else '('}{low:g}, {high:,g}{']' if self.lt is None else ')'}"
        return f"be {'at least' if self.gt is None else 'above'} {low:g}"


def marker(annotation: Any, kind: type[M]) -> M | None:
    """Return a marker of an annotation or of one of its alternatives; None if it has none.

    >>> marker(EmbeddingScale, InRecipe)
    InRecipe(default=None)
    """
    if typing.get_origin(annotation) is Annotated:
        found = next((one for one in annotation.__metadata__ if isinstance(one, kind)), None)
        return marker(annotation.__origin__, kind) if found is None else found
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next((one for part in typing.get_args(annotation) if (one := marker(part, kind)) is not None), None)
    return None


def alternatives(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows, with their ranges and without markers.

    >>> alternatives(Literal["all"] | ScoreSpec | None)
    [typing.Literal['all'], <class 'str'>, collections.abc.Mapping[str, typing.Any], <class 'NoneType'>]
    """
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        plain = [one for one in annotation.__metadata__ if not isinstance(one, InRecipe | NotInRecipe | Choice)]
        if not plain:
            return alternatives(annotation.__origin__)
        return [Annotated[(annotation.__origin__, *plain)]]
    if origin in (typing.Union, types.UnionType):
        return [one for part in typing.get_args(annotation) for one in alternatives(part)]
    return [types.NoneType if annotation is None else annotation]


def _ranges(annotation: Any) -> list[tuple[Any, Bounds]]:
    """The plain type of each alternative with its range."""
    found: list[tuple[Any, Bounds]] = []
    for one in alternatives(annotation):
        if typing.get_origin(one) is Annotated:
            found += [(kind, Bounds.of(one.__metadata__)) for kind, _ in _ranges(one.__origin__)]
        else:
            found.append((one, Bounds()))
    return found


def _is(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is Literal:
        return isinstance(value, str | int | None) and value in typing.get_args(kind)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, {int: Integral, float: Real}.get(kind, kind))
