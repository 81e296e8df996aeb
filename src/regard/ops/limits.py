"""Masks as kernels of short reads take them: lengths, and two bounds that move with the query."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask, Shape


class MaskLimits(NamedTuple):
    """A mask of padding and windows: keys before a length, and between two bounds that move with the query.

    Attributes:
        lengths: [B] integers on the device; None for no limit.
        after: query t sees keys after t + after; None for no limit.
        until: query t sees keys up to and with t + until; None for no limit.

    >>> MaskLimits.of(Mask.causal() & Mask.padding([3]), (1, 1, 2, 5), torch.device("cpu"))
    MaskLimits(lengths=tensor([3]), after=None, until=3)
    """

    lengths: Tensor | None = None
    after: int | None = None
    until: int | None = None

    @staticmethod
    def of(mask: Mask, shape: Shape, device: torch.device) -> MaskLimits:
        """Return the limits of a mask that is nothing else; the last query stands at the last key."""
        lengths, first, last, _ = mask.spans(shape)
        shift = shape[3] - shape[2]
        return MaskLimits(
            None if lengths is None else lengths.to(device),
            None if first is None else first + shift,
            None if last is None else last + shift,
        )


def expressible_as_limits(mask: Mask | None, shape: Shape) -> bool:
    """Return whether limits can say all of a mask.

    >>> expressible_as_limits(Mask.causal(), (1, 1, 2, 2)), expressible_as_limits(Mask.of(torch.eye(2).bool()), (1, 1, 2, 2))
    (True, False)
    """
    return mask is None or mask.spans(shape).rest is None
