"""Rotary positions: queries and keys are rotated by angles proportional to their positions."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.scores.cosine import Cosine
from regard.nn.scores.dot import Dot, ScaledDot
from regard.nn.state import AttentionState, Past
from regard.ops.attended import Attended


def rotate(x: Tensor, start: int = 0, *, base: float = 10000.0) -> Tensor:
    r"""Rotate each pair of channels of a vector by an angle proportional to its position.

    .. math:: (x_{2i}, x_{2i+1}) \mapsto (x_{2i} \cos\theta - x_{2i+1} \sin\theta,\;
              x_{2i} \sin\theta + x_{2i+1} \cos\theta), \quad \theta = pos \cdot base^{-2i/D}

    Args:
        x: [..., T, D], D even.
        start: position of the first vector.
        base: approximate ratio of the angular frequencies of the first and the last pair.

    Returns:
        [..., T, D]. Angles are computed in float64, the rotation in float32 for half-precision inputs.

    Su et al. 2021, "RoFormer", equation 34. Pairs are adjacent channels, as in the paper.

    >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))          # by 0 and by 1 radian
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    length, dim = x.shape[-2:]
    if dim % 2:
        raise ValueError(f"rotary positions turn pairs of channels, so a head's width must be even; got {dim}")
    maker = torch.device("cpu") if x.device.type == "mps" else x.device  # MPS has no float64
    positions = torch.arange(start, start + length, dtype=torch.float64, device=maker)
    speeds = base ** -(torch.arange(0, dim, 2, dtype=torch.float64, device=maker) / dim)
    angles = torch.outer(positions, speeds)
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    cos, sin = angles.cos().to(x.device, precise.dtype), angles.sin().to(x.device, precise.dtype)
    even, odd = precise[..., 0::2], precise[..., 1::2]
    # pairs [..., T, D / 2, 2] -> [..., T, D]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


class Rotary(Score):
    r"""Inner-product score with relative positions: e_ts = score(R_t q_t, R_s k_s).

    R is a rotation, so the energy depends on positions only through t - s. As in masks, the last query has the position
    of the last key. Keys are stored unrotated and rotated at each read, so that a memory can grow, be truncated at its
    front or be reordered, and decoding step by step equals reading in parallel.

    Args:
        score: `ScaledDot(...)`, `Dot(...)` or `Cosine(...)`; any other would not depend on t - s.
        base: see `rotate`.

    No parameters of its own. Su et al. 2021, section 3.2.2.

    >>> score = Rotary(ScaledDot(6, 6, hidden_dim=2, num_heads=3))
    >>> score.num_heads
    3
    """

    from_the_end = True

    def __init__(self, score: Score, *, base: float = 10000.0) -> None:
        if not isinstance(score, (Dot, ScaledDot, Cosine)):
            raise ValueError(
                f"rotary positions need a score of inner products (dot, scaled dot, cosine); got {type(score).__name__}"
            )
        super().__init__(num_heads=score.num_heads)
        self.score = score
        self.implementations = score.implementations
        self.base = base

    def queries(self, query: Tensor) -> Tensor:
        return self.score.queries(query)

    def keys(self, key: Tensor) -> Tensor:
        return self.score.keys(key)

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return self.score.energy(*self._turned(query, memory), state)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        return self.score.attend(*self._turned(query, memory), state, dropout=dropout, impl=impl)

    def start(self, memory: Memory) -> Past:
        return self.score.start(memory)

    def _turned(self, query: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        # Only differences matter, so positions are counted from the first entry of the memory.
        first = memory.size - query.shape[2]
        return (
            rotate(query, first, base=self.base),
            Memory(rotate(memory.key, base=self.base), memory.value, memory.mask),
        )

    def extra_repr(self) -> str:
        return f"base={self.base:g}"
