"""Checks of plain values against the types of arguments."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a name", types.NoneType: "null"}


def check_values(what: str, arguments: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Each number, name and truth value is one; what is more than that is checked where it is made.

    Raises:
        ValueError: the first that is not, with what it takes.

    >>> check_values("model 'luong'", {"feeding": "often"}, {"feeding": bool})
    Traceback (most recent call last):
    ValueError: 'feeding' of the model 'luong' is true or false; got 'often'
    """
    for name, value in arguments.items():
        kinds = typing.get_args(hints[name]) or (hints[name],)
        if set(kinds) <= set(_WORDS) and not any(_is(value, kind) for kind in kinds):
            wanted = " or ".join(_WORDS[kind] for kind in kinds)
            raise ValueError(f"{name!r} of the {what} is {wanted}; got {value!r}")


def mapping(what: str, value: Any) -> dict[str, Any]:
    """The keys and values of a part that is given by them."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is given by a mapping of its arguments; got {value!r}")
    return dict(value)


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
