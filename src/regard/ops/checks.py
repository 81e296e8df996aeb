"""Argument checks of all ops. Errors name the mechanism, both shapes and a remedy."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from regard.masks import Mask, MaskShapeError


def check_impl(mechanism: str, implementations: tuple[str, ...], impl: str | None) -> None:
    """Check the name of an implementation; a named implementation never falls back silently."""
    if impl is not None and impl not in implementations:
        raise ValueError(f"{mechanism}: no implementation {impl!r}; there are {', '.join(implementations)}")


def raise_unsupported(mechanism: str, impl: str, reason: str) -> NoReturn:
    """Raise ValueError: the implementation does not support the call. `reason` ends the sentence.

    >>> raise_unsupported("dot", "banded", "needs a window")
    Traceback (most recent call last):
    ValueError: dot: impl='banded' needs a window; leave impl out, or use impl="reference"
    """
    raise ValueError(f'{mechanism}: impl={impl!r} {reason}; leave impl out, or use impl="reference"')


def check_weight(mechanism: str, name: str, weight: Tensor | None) -> None:
    """Check that an argument is a tensor, and not a mask in the position of a weight, for example."""
    if weight is not None and not isinstance(weight, Tensor):
        raise TypeError(
            f"{mechanism}: {name} must be a tensor, not {type(weight).__name__}; a mask is given as mask=..."
        )


def _fits(query: Tensor, key: Tensor, value: Tensor, width: int | None) -> bool:
    """Return whether shapes and dtypes fit, with few comparisons, since they count in the time of a short read."""
    if not query.dim() == key.dim() == value.dim() == 4:
        return False
    batch, heads, _, channels = query.shape
    key_batch, key_heads, keys, key_width = key.shape
    value_batch, value_heads, values, _ = value.shape
    same = batch == key_batch == value_batch and heads == key_heads == value_heads and keys == values
    numbers = query.is_floating_point() and key.is_floating_point() and value.is_floating_point()
    return same and channels == key_width and (width is None or width == channels) and numbers


def check_reading(mechanism: str, query: Tensor, key: Tensor, value: Tensor, *, width: int | None = None) -> None:
    """Check query [B, H, T, D], key [B, H, S, D] and value [B, H, S, Dv]; `width` is D if fixed elsewhere."""
    if _fits(query, key, value, width):
        return
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not tensor.is_floating_point():
            raise ValueError(f"{mechanism}: {name} must hold floating-point numbers; got {tensor.dtype}")
        if tensor.dim() != 4:
            raise ValueError(f"{mechanism}: {name} must be [B, H, length, width]; got shape {list(tensor.shape)}")
    batch, heads, _, channels = query.shape
    *sides, keys, key_width = key.shape
    if [batch, heads] != sides or channels != key_width:
        raise ValueError(
            f"{mechanism}: query [B, H, T, D] and key [B, H, S, D] must share B, H and D; "
            f"got {list(query.shape)} and {list(key.shape)}"
        )
    if value.shape[:3] != (batch, heads, keys):
        raise ValueError(
            f"{mechanism}: key [B, H, S, D] and value [B, H, S, Dv] must share B, H and S; "
            f"got {list(key.shape)} and {list(value.shape)}"
        )
    if width is not None and query.shape[3] != width:
        raise ValueError(f"{mechanism}: query has width {query.shape[3]}, but the score's weight has {width}")


def token_positions(sequence: Tensor, mask: Mask | None) -> Tensor:
    """Return the positions of `sequence` [B, L, C] that are not padding, as booleans [B, L].

    The mask must not depend on queries (`Mask.padding(lengths)`); others raise ValueError.

    >>> token_positions(torch.zeros(2, 3, 5), Mask.padding([3, 1])).int().tolist()
    [[1, 1, 1], [1, 0, 0]]
    """
    Mask.check(mask)
    batch, length, _ = sequence.shape
    if mask is None:
        return torch.ones(batch, length, dtype=torch.bool, device=sequence.device)
    if mask.by_position:
        raise MaskShapeError(
            f"there are no queries with positions here: only padding or keys can be masked; got {mask!r}"
        )
    return mask.allowed((batch, 1, 1, length), device=sequence.device)[:, 0, 0].expand(batch, length)


def pair_mask(rows: Tensor, cols: Tensor) -> Mask:
    """Return the mask of pairs of valid positions: [B, T], [B, S] -> [B, 1, T, S]."""
    return Mask.of(rows.unsqueeze(2) & cols.unsqueeze(1))
