"""Fields of dataclasses that are computed when they are first read."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


def deferred(compute: Callable[[], T]) -> T:
    """Return a stand-in for a value, for a field that `deferrable` names: computed when the field is first read."""
    return cast(T, _Deferred(compute))


def deferrable(*names: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: these fields of a dataclass take `deferred` values.

    >>> from dataclasses import dataclass
    >>> @deferrable("length")
    ... @dataclass(frozen=True)
    ... class Text:
    ...     words: str
    ...     length: int = 0
    >>> text = Text("a gem", deferred(lambda: print("counting") or 5))
    >>> text.words, Text("").length
    ('a gem', 0)
    >>> text.length, text.length
    counting
    (5, 5)
    """

    def decorate(owner: type[T]) -> type[T]:
        for name in names:
            setattr(owner, name, _Field(name))  # after the dataclass has taken its defaults
        return owner

    return decorate


def replaced(value: T, **changes: Any) -> T:
    """`dataclasses.replace` that leaves deferred fields deferred."""
    made = copy.copy(value)
    made.__dict__.update(changes)
    return made


class _Deferred:
    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


class _Field:
    """Descriptor that computes a deferred value once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name]
        if isinstance(value, _Deferred):
            value = instance.__dict__[self._name] = value.compute()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value
