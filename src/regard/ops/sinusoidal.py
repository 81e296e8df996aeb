"""Sinusoidal positions (Vaswani et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.ops.card import Card

CARD = Card(
    name="sinusoidal",
    family="shape of use",
    equation="PE(pos, 2i) = sin(pos / 10000^(2i/C)),  PE(pos, 2i+1) = cos(pos / 10000^(2i/C))",
    paper="Vaswani et al. 2017, sec. 3.5",
    cost="T·C sines",
    op="sinusoidal_positions",
    module="SinusoidalPositions",
)


def sinusoidal_positions(
    length: int,
    dim: int,
    *,
    start: int = 0,
    base: float = 10000.0,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""One vector a position: pairs of a sine and a cosine, each pair slower than the one before.

    .. math:: PE_{pos,2i} = \sin\bigl(pos / 10000^{2i/C}\bigr), \quad PE_{pos,2i+1} = \cos\bigl(pos / 10000^{2i/C}\bigr)

    A pair turns by the same angle from any position to the k-th after it: a shift is a fixed rotation.

    Args:
        length: T, how many positions.
        dim: C, the width of a vector. If it is odd, the last pair has only its sine.
        start: the first position, so that a decoder with a cache goes on where it was.
        base: the slowest pair takes nearly `base` times 2π positions for a turn.
        device: where the result lies; None for the default device.

    Returns:
        [T, C] in float32. Angles are in float64: in float32 the sines of position 100,000 would be wrong by 0.003.

    Vaswani et al. 2017, "Attention Is All You Need", section 3.5. Sines and cosines alternate, as the paper has it;
    several well-known implementations put all sines first, which is the same up to the order of the channels.

    >>> sinusoidal_positions(2, 4)                      # sin 0, cos 0, ...; sin 1, cos 1, sin 0.01, cos 0.01
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if length < 0 or start < 0 or dim < 1:
        raise ValueError(
            f"sinusoidal: length and start must be at least 0 and dim at least 1; got {length}, {start} and {dim}"
        )
    device = torch.get_default_device() if device is None else torch.device(device)
    maker = torch.device("cpu") if device.type == "mps" else device  # which has no float64
    positions = torch.arange(start, start + length, dtype=torch.float64, device=maker)
    channels = torch.arange(dim, device=maker)
    speed = base ** -((channels - channels % 2).double() / dim)
    angles = positions.unsqueeze(1) * speed
    return torch.where(channels % 2 == 0, angles.sin(), angles.cos()).to(device, torch.float32)
