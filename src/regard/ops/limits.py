"""Masks for kernels of short reads: lengths, and two bounds relative to the query."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask, Shape


class MaskLimits(NamedTuple):
    """Mask of padding and windows: keys before a length, and between two bounds relative to the query.

    Attributes:
        lengths: [B], integers on the device; None for no limit.
        after: query t sees keys after t + after; None for no limit.
        until: query t sees keys up to and including t + until; None for no limit.

    >>> MaskLimits.of(Mask.causal() & Mask.padding([3]), (1, 1, 2, 5), torch.device("cpu"))
    MaskLimits(lengths=tensor([3]), after=None, until=3)
    """

    lengths: Tensor | None = None
    after: int | None = None
    until: int | None = None

    @staticmethod
    def of(mask: Mask, shape: Shape, device: torch.device) -> MaskLimits:
        """Return the limits of such a mask, with the last query aligned to the last key."""
        lengths, first, last, _ = mask.spans(shape)
        shift = shape[3] - shape[2]
        return MaskLimits(
            None if lengths is None else lengths.to(device),
            None if first is None else first + shift,
            None if last is None else last + shift,
        )


def expressible_as_limits(mask: Mask | None, shape: Shape) -> bool:
    """Return whether limits express a mask completely.

    >>> shape, dense = (1, 1, 2, 2), Mask.of(torch.eye(2).bool())
    >>> expressible_as_limits(Mask.causal(), shape), expressible_as_limits(dense, shape)
    (True, False)
    """
    return mask is None or mask.spans(shape).rest is None
