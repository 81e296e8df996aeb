"""One read by inner products, and the interface of its implementations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask, Shape
from regard.ops.attended import Attended
from regard.ops.softmax import full_precision, masked_softmax, statistics_dtype
from regard.ops.weights import Weigh

Exact = Callable[[], tuple[Tensor, Tensor, float]]
"""Queries and keys as they were before they were rounded, and the scale of their products."""


class ReadArguments(NamedTuple):
    """Arguments of one read, checked and of one dtype.

    Attributes:
        query: [B, H, T, D].
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        mask: what may be attended; None for everything.
        shape: [B, H, T, S].
        scale: of the inner products.
        dropout: probability of dropping a weight.
        causal: whether the mask is `Mask.causal()` of as many queries as keys, which kernels know without a tensor.
        dtype: of the context; that of `value` before all three were widened to one.
        mixed: whether they had to be widened.
        exact: queries and keys for the weights.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Mask | None
    shape: Shape
    scale: float
    dropout: float
    causal: bool
    dtype: torch.dtype
    mixed: bool
    exact: Exact

    def attended(self, context: Tensor, impl: str) -> Attended:
        """The outcome of an implementation that leaves no weights: any rows of them are made on demand."""
        return Attended(context.to(self.dtype), _rebuilt(self.exact, self.mask, self.shape), self.shape, impl=impl)


@dataclass(frozen=True)
class Implementation:
    """A way to compute a read, under the name that `impl=` takes.

    Attributes:
        name: of the implementation.
        offer: the outcome, if this is the fastest way for a read; None to leave it to the next.
        refusal: the reason why a read cannot be computed this way, as the end of a sentence; None if it can.
        attend: the outcome of a read that is not refused.
    """

    name: str
    offer: Callable[[ReadArguments], Attended | None]
    refusal: Callable[[ReadArguments], str | None]
    attend: Callable[[ReadArguments], Attended]


def inner_product(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """scale q.k for every pair, [B, H, T, S]; in float32 for half-precision inputs."""
    statistics = statistics_dtype(query.dtype)
    with full_precision(query):
        return (query.to(statistics) * scale) @ key.to(statistics).mT  # [B, H, T, S]


def _rebuilt(exact: Exact, mask: Mask | None, shape: Shape) -> Weigh:
    """The weights of any heads and rows. A row is made whole, so its softmax needs no log-sum-exp."""

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        query, key, scale = exact()
        chosen = query.index_select(1, head).index_select(2, row)  # [B, h, t, D]
        energy = inner_product(chosen, key.index_select(1, head), scale)
        if mask is not None:
            energy = energy.masked_fill(~mask.allowed(shape, heads=head, rows=row, device=energy.device), -torch.inf)
        return masked_softmax(energy)

    return weigh
