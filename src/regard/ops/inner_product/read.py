"""Arguments of attention over inner products, and the interface of its implementations."""

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
    """Checked arguments of one read, in one dtype.

    Attributes:
        query: [B, H, T, D].
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        mask: what may be attended; None for everything.
        shape: [B, H, T, S].
        scale: factor of the inner products.
        dropout: probability of dropping a weight.
        causal: True for `Mask.causal()` with T = S, which kernels support without a tensor.
        dtype: dtype of the context, that of `value` before conversion to a common dtype.
        mixed: True if a conversion was necessary.
        exact: unrounded queries and keys, for the weights.
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
        """Return the result of an implementation without weights, which are recomputed on demand."""
        return Attended(context.to(self.dtype), _rebuilt(self.exact, self.mask, self.shape), self.shape, impl=impl)


@dataclass(frozen=True)
class Implementation:
    """Implementation of a read, under its name for `impl=`.

    Attributes:
        name: the name.
        offer: return the result if this implementation is the fastest for a read; None to try the next one.
        refusal: return why it cannot compute a read, as the end of a sentence; None if it can.
        attend: compute a read without a refusal.
    """

    name: str
    offer: Callable[[ReadArguments], Attended | None]
    refusal: Callable[[ReadArguments], str | None]
    attend: Callable[[ReadArguments], Attended]


def inner_product(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """Compute scale q.k for all pairs, [B, H, T, S]; in float32 for half-precision inputs."""
    statistics = statistics_dtype(query.dtype)
    with full_precision(query):
        return (query.to(statistics) * scale) @ key.to(statistics).mT  # [B, H, T, S]


def _rebuilt(exact: Exact, mask: Mask | None, shape: Shape) -> Weigh:
    """Recompute the weights of some heads and rows. Rows are complete, so no log-sum-exp is needed."""

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        query, key, scale = exact()
        chosen = query.index_select(1, head).index_select(2, row)  # [B, h, t, D]
        energy = inner_product(chosen, key.index_select(1, head), scale)
        if mask is not None:
            energy = energy.masked_fill(~mask.allowed(shape, heads=head, rows=row, device=energy.device), -torch.inf)
        return masked_softmax(energy)

    return weigh
