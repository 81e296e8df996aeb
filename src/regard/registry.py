"""Scores, aligners, metrics and readers from outside the package, by the names that recipes give them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

RegisteredKind = Literal["score", "aligner", "metric", "reader"]
T = TypeVar("T")


@dataclass(frozen=True)
class Registered:
    """Class or function with a name in recipes.

    Attributes:
        kind: what it is.
        name: as a recipe writes it.
        made: the class of a score, an aligner or a reader; the function of a metric.
        higher_is_better: of a metric, which way is up.
        compares: of a metric, what it takes answers for: see `regard.evaluate.Metric`.
    """

    kind: RegisteredKind
    name: str
    made: Any
    higher_is_better: bool = True
    compares: str = "texts"

    @property
    def module(self) -> str:
        """The module that it is from."""
        return str(self.made.__module__)


_REGISTERED: dict[tuple[RegisteredKind, str], Registered] = {}


def register(name: str, *, higher_is_better: bool = True, compares: str = "texts") -> Callable[[T], T]:
    """Give a `Score`, an `Aligner`, a `DataReader` or a metric of one's own a name for recipes that list its module.

    The arguments of a constructor become keys of recipes, with their types and defaults; so do the keyword-only
    arguments of a metric, which is a function from hypotheses and references to a `Tally`.

    Args:
        name: as a recipe writes it.
        higher_is_better: of a metric, which way is up.
        compares: of a metric, "texts" or "labels".

    Raises:
        ValueError: it is none of these, or another one has the name.

    >>> register("Length Ratio")(lambda hypotheses, references: None)
    Traceback (most recent call last):
    ValueError: 'Length Ratio' is not a valid name: lower-case letters, digits and '_', beginning with a letter
    """

    def give(made: T) -> T:
        function = callable(made) and not isinstance(made, type)
        kind: RegisteredKind | None = "metric" if function else getattr(made, "registered_as", None)
        if kind is None:
            raise ValueError(f"{name}: {made!r} is no subclass of Score, Aligner or DataReader, and no function")
        if not re.fullmatch(r"[a-z]\w*", name):
            raise ValueError(
                f"{name!r} is not a valid name: lower-case letters, digits and '_', beginning with a letter"
            )
        new = Registered(kind, name, made, higher_is_better, compares)
        old = _REGISTERED.get((kind, name))
        if old is not None and (old.module, old.made.__qualname__) != (new.module, new.made.__qualname__):
            raise ValueError(f"{new.module}: the {kind} {name!r} is registered by {old.module} already")
        _REGISTERED[kind, name] = new
        return made

    return give


def registered(kind: RegisteredKind) -> dict[str, Registered]:
    """Return what is registered, by name."""
    return {name: one for (its, name), one in _REGISTERED.items() if its == kind}
