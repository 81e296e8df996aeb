"""Hard attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Sample(NamedTuple):
    """Where hard attention looked, each [B, H, T].

    Attributes:
        key: the position that was drawn.
        log_prob: its log-probability, with gradient: what REINFORCE multiplies with the reward. Zero where the
            expectation was taken instead, or where nothing may be attended.
        entropy: of the distribution it was drawn from, with gradient.
    """

    key: Tensor
    log_prob: Tensor
    entropy: Tensor

    @staticmethod
    def join(samples: Sequence[Sample]) -> Sample:
        """Samples of consecutive queries as one."""
        return Sample(*(torch.cat(parts, dim=2) for parts in zip(*samples, strict=True)))
