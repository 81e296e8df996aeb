"""What the loop asks of whoever makes its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Read(NamedTuple):
    """What every step reads.

    Attributes:
        key: [B, S, A].
        value: [B, S, 3D].
        bias: [B, S], 0 where the memory may be read, -inf elsewhere.
        weight: v [A].
    """

    key: Tensor
    value: Tensor
    bias: Tensor
    weight: Tensor


class Steps(NamedTuple):
    """A step forward and a step back, all between two matrix products.

    Attributes:
        forward: (read, inputs [B, 3D], joint [B, A + 3D], state [B, D]) fills (the state after it [B, D],
            weights [B, S], the open gates r, z, n [B, 3D]).
        backward: (read, gradient of the state after it [B, D], gradient that reaches the state before it from outside
            [B, D] or None, joint, state, weights, gates, gradient of the weights) fills (gradients of inputs and of
            joint, what goes to the state before it around the product [B, D]) and adds to (gradients of the keys
            [B, S, A] and of v [B, A]).
    """

    forward: Callable[..., None]
    backward: Callable[..., None]
