"""Dropout that is fast on a CPU, as a function."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

_STEPS = 1 << 16


def scaled_dropout(x: Tensor, share: float) -> Tensor:
    """x_i / (1 - share) with probability 1 - share, else 0; see `regard.nn.Dropout`.

    >>> _ = torch.manual_seed(0)
    >>> scaled_dropout(torch.ones(8), 0.5).unique().tolist()
    [0.0, 2.0]
    """
    if share == 0.0:
        return x
    if not x.is_cpu or share == 1.0:
        return F.dropout(x, share)
    below = min(round(share * _STEPS), _STEPS - 1)
    kept = _sixteen_bits(x.numel()) >= below - _STEPS // 2
    return x * kept.view(x.shape).to(x.dtype).mul_(_STEPS / (_STEPS - below))


def _sixteen_bits(count: int) -> Tensor:
    """Whole numbers from -32,768 to 32,767, all alike in probability: [count] int16."""
    words = torch.empty(-(-count // 4), dtype=torch.int64, device="cpu")
    return words.random_(torch.iinfo(torch.int64).min, None).view(torch.int16)[:count]
