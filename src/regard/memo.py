"""Values that keep what others make of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Self, TypeVar, cast

import torch

T = TypeVar("T")


class Keeping:
    """What is made of a value that does not change is made once, and goes when the value goes.

    >>> value = Keeping()
    >>> value.once("a reader", lambda given: [given]) is value.once("a reader", lambda given: [])
    True
    """

    def once(self, reader: object, make: Callable[[Self], T]) -> T:
        """What `make` makes of this for a reader, made when it is first asked for and then kept."""
        if torch.compiler.is_compiling():
            return make(self)
        if reader not in self._made:
            self._made[reader] = make(self)
        return cast(T, self._made[reader])

    def latest(self, reader: object, key: object, make: Callable[[], T]) -> T:
        """What `make` makes for a reader's last key: made again for another key, so that one result is held at most.

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
