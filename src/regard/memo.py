"""Memo: caches of objects derived from an immutable value."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Self, TypeVar, cast

import torch

T = TypeVar("T")


class Memo:
    """Caches objects derived from an immutable value, for that value's lifetime.

    >>> value = Memo()
    >>> value.once("user", lambda value: [value]) is value.once("user", lambda value: [])
    True
    """

    def once(self, user: object, make: Callable[[Self], T]) -> T:
        """Return the object that `make` derives from this value for one user, computed on first use.

        While `torch.compile` traces, nothing is cached: a cached tensor would become a constant of the graph.
        """
        if torch.compiler.is_compiling():
            return make(self)
        if user not in self._made:
            self._made[user] = make(self)
        return cast(T, self._made[user])

    def latest(self, user: object, key: object, make: Callable[[], T]) -> T:
        """Return the object for one user's most recent key; another key replaces it, so that one is kept at most.

        While `torch.compile` traces, nothing is cached, as in `once`.
        """
        if torch.compiler.is_compiling():
            return make()
        key = key, torch.is_inference_mode_enabled()  # autograd cannot use inference tensors
        held = self._made.get(user)
        if held is None or cast(tuple[object, T], held)[0] != key:
            held = self._made[user] = key, make()
        return cast(tuple[object, T], held)[1]

    @cached_property
    def _made(self) -> dict[object, object]:
        return {}
