"""Which positions of a sequence are there: shared by the mechanisms that compare every word of one with every other."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask, MaskShapeError


def present(sequence: Tensor, mask: Mask | None) -> Tensor:
    """The positions of `sequence` [B, L, C] that are not padding, as booleans [B, L].

    The mask speaks of positions alone (`Mask.padding(lengths)`); one that differs by query is refused.

    >>> present(torch.zeros(2, 3, 5), Mask.padding([3, 1])).int().tolist()
    [[1, 1, 1], [1, 0, 0]]
    """
    Mask.check(mask)
    batch, length, _ = sequence.shape
    if mask is None:
        return torch.ones(batch, length, dtype=torch.bool, device=sequence.device)
    if mask.by_place:
        raise MaskShapeError(f"there are no queries with places here: only padding or keys can be masked; got {mask!r}")
    return mask.allowed((batch, 1, 1, length), device=sequence.device)[:, 0, 0].expand(batch, length)


def both(rows: Tensor, cols: Tensor) -> Mask:
    """The pairs whose two positions are there: [B, T], [B, S] -> a mask of [B, 1, T, S]."""
    return Mask.of(rows.unsqueeze(2) & cols.unsqueeze(1))
