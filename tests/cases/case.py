"""A mechanism as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from regard import Mask
from regard.ops import Attended

Inputs = dict[str, Tensor]


class Sizes(NamedTuple):
    """Sizes of a read: batch, heads, queries, keys, key width, value width."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    value: int


@dataclass(frozen=True)
class Case:
    """How to make random inputs for a mechanism and how to run it.

    Attributes:
        mechanism: the name on its card.
        build: sizes -> float64 inputs, every one of which takes part in the gradients.
        read: (inputs, mask, impl) -> the outcome.
        implementations: all on the card.
        key_axis: which inputs run along the keys, and on which dimension: they grow when padding is added.
        heads: False for a mechanism without heads; it is then built with heads = 1.
        fused_roundings: how often half precision is rounded where a fused kernel reads: its inputs, the outcome.
    """

    mechanism: str
    build: Callable[[Sizes], Inputs]
    read: Callable[[Inputs, Mask | None, str | None], Attended]
    implementations: tuple[str, ...]
    key_axis: dict[str, int] = field(default_factory=lambda: {"key": 2, "value": 2})
    heads: bool = True
    fused_roundings: int = 1

    def __str__(self) -> str:
        return self.mechanism


def normal(*shape: int) -> Tensor:
    """Standard normal in float64, the same on every device."""
    return torch.randn(shape, dtype=torch.float64, device="cpu").to(torch.get_default_device())


def reading(sizes: Sizes) -> Inputs:
    """query [B, H, T, D], key [B, H, S, D], value [B, H, S, Dv]."""
    batch, heads, queries, keys, width, value = sizes
    return {
        "query": normal(batch, heads, queries, width),
        "key": normal(batch, heads, keys, width),
        "value": normal(batch, heads, keys, value),
    }
