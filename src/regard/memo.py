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
    >>> value.once("a reader", lambda given: [given]) is value.once("a reader", lambda given: [])
    True
    """

    def once(self, reader: object, make: Callable[[Self], T]) -> T:
        """Return what `make` derives from this value for a reader, computed on first use."""
        if torch.compiler.is_compiling():
            return make(self)
        if reader not in self._made:
            self._made[reader] = make(self)
        return cast(T, self._made[reader])

    def latest(self, reader: object, key: object, make: Callable[[], T]) -> T:
        """Return what `make` derives for a reader's last key: computed again for another key, one result at most.

        Traced code does without: what is made there belongs to the graph.
        """
        if torch.compiler.is_compiling():
            return make()
        key = key, torch.is_inference_mode_enabled()  # tensors of inference cannot be used in training
        held = self._made.get(reader)
        if held is None or cast(tuple[object, T], held)[0] != key:
            held = self._made[reader] = key, make()
        return cast(tuple[object, T], held)[1]

    @cached_property
    def _made(self) -> dict[object, object]:
        return {}
