"""What a short read may attend to."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask, Shape


class Limits(NamedTuple):
    """A mask of spans as its kernels take it: keys before a length, and between two bounds that go with the query.

    Attributes:
        lengths: [B] integers on the device; None for no limit.
        after: query t sees keys after t + after; None for no limit.
        until: query t sees keys up to and with t + until; None for no limit.

    >>> Limits.of(Mask.causal() & Mask.padding([3]), (1, 1, 2, 5), torch.device("cpu"))
    Limits(lengths=tensor([3]), after=None, until=3)
    """

    lengths: Tensor | None = None
    after: int | None = None
    until: int | None = None

    @staticmethod
    def of(mask: Mask, shape: Shape, device: torch.device) -> Limits:
        """Those of a mask that is nothing else; the last query stands at the last key."""
        lengths, first, last, _ = mask.spans(shape)
        shift = shape[3] - shape[2]
        return Limits(
            None if lengths is None else lengths.to(device),
            None if first is None else first + shift,
            None if last is None else last + shift,
        )
