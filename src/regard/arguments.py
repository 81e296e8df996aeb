"""Types of constructor arguments with their ranges, shared by type checkers, constructors and recipes.

A constructor declares each argument once: its name, its type and range, its default, and a description in the `Args:`
of its class. `checked` enforces the declaration at each call, and `regard.recipes` derives the keys of recipes from
it. This module does not import PyTorch.
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

from regard.nearest import nearest

PartKind = Literal["model", "encoder", "encoder_decoder", "score", "aligner", "term"]
LARGEST = 2**24
"""Maximum size. A larger one is a typing error, and its square may exceed PyTorch's integers."""


@dataclass(frozen=True)
class Bounds:
    """Range of a number.

    Attributes:
        ge, gt, le, lt: inclusive and exclusive lower and upper bounds; None for no bound.

    >>> str(Bounds(ge=0, lt=1)), str(Bounds(ge=1, le=LARGEST)), str(Bounds(gt=0))
    ('lie in [0, 1)', 'be at least 1', 'be above 0')
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    @classmethod
    def of(cls, metadata: tuple[Any, ...]) -> Bounds:
        """Return the range in the metadata of an annotation."""
        return next((one for one in metadata if isinstance(one, cls)), cls())

    def hold(self, value: Any) -> bool:
        """Return True if a value is in the range; NaN is in no range."""
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

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the pydantic schema of a number in this range, without importing pydantic."""
        limits = {"ge": self.ge, "gt": self.gt, "le": self.le, "lt": self.lt}
        return {**handler(source), **{name: limit for name, limit in limits.items() if limit is not None}}


Size = Annotated[int, Bounds(ge=1, le=LARGEST)]
"""Width or number of things, at least 1."""
Count = Annotated[int, Bounds(ge=0)]
"""Number of things, at least 0."""
Share = Annotated[float, Bounds(ge=0, lt=1)]
"""Dropout probability, below 1."""
Probability = Annotated[float, Bounds(ge=0, le=1)]
"""Probability, from 0 to 1."""
Factor = Annotated[float, Bounds(ge=0)]
"""Weight of a term in a sum, at least 0."""
Scale = Annotated[float, Bounds(gt=0)]
"""Positive number."""


@dataclass(frozen=True)
class InRecipe:
    """Marker of an argument whose default in recipes differs from that of the constructor."""

    default: Any


@dataclass(frozen=True)
class NotInRecipe:
    """Marker of an argument that is not a key of recipes, because the data or other arguments determine it."""


@dataclass(frozen=True)
class Choice:
    """Marker of an argument that a recipe sets by the name of a component, or by a mapping with its name and arguments.

    Attributes:
        kind: kind of the components to choose from (`regard.parts`).
        key: name of the recipe key, if it differs from that of the argument.
        only: allowed names; empty for all components of the kind.
    """

    kind: PartKind
    key: str | None = None
    only: tuple[str, ...] = ()


EmbeddingScale = Annotated[float, Bounds(gt=0), InRecipe(None)]
"""Maximum absolute initial value of an embedding; recipes default to 1 for characters and 0.1 for other tokenizers."""
Spec = str | Mapping[str, Any]
"""Specification of a component: its name, or a mapping with `name` and its arguments."""
ScoreSpec = Annotated[Spec, Choice("score")]
AlignerSpec = Annotated[Spec, Choice("aligner")]
TermSpec = Annotated[Spec, Choice("term")]

Rule = Callable[..., None]
T = TypeVar("T", bound=Callable[..., Any])
M = TypeVar("M")

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a name", types.NoneType: "null"}


def checked(*rules: Rule) -> Callable[[T], T]:
    """Check the arguments of a constructor: types and ranges by their annotations, then rules between them.

    Decorator of an `__init__`, or of a dataclass whose fields are the arguments.

    Args:
        rules: functions of `regard.constraints`, whose parameters are names of arguments. The fields of an argument
            `blocks` count as arguments.

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
            make(self, *args, **kwargs)  # raises Python's own TypeError for missing or unknown arguments
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
    """Check a value against an annotation of plain types; annotations with other types are not checked here.

    Raises:
        ValueError: the value has another type, is outside the range, or is not one of the choices.

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
    """Return the plain type and the range of each alternative."""
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
