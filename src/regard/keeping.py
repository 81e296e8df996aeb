"""Values that keep what others make of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Self, TypeVar, cast

T = TypeVar("T")


class Keeping:
    """What is made of a value that does not change is made once, and goes when the value goes.

    >>> value = Keeping()
    >>> value.once("a reader", lambda given: [given]) is value.once("a reader", lambda given: [])
    True
    """

    def once(self, reader: object, make: Callable[[Self], T]) -> T:
        """What `make` makes of this for a reader, made when it is first asked for and then kept."""
        if reader not in self._made:
            self._made[reader] = make(self)
        return cast(T, self._made[reader])

    @cached_property
    def _made(self) -> dict[object, object]:
        return {}
