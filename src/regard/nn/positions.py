"""Position encodings added to vectors: sinusoidal and learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.checks import positive
from regard.ops.learned_positions import learned_positions
from regard.ops.sinusoidal import sinusoidal_positions

_KEPT = 1024  # number of cached positions


class SinusoidalPositions(nn.Module):
    """Adds sinusoidal positions: x_t + PE_{start + t}.

    No parameters and no maximum length. The first positions are cached, since a decoder needs them one per step; later
    ones are computed at every call.

    Args:
        dim: width C of the vectors.
        base: see `regard.ops.sinusoidal_positions`.

    Shapes: x [B, T, C] -> [B, T, C].

    Vaswani et al. 2017, section 3.5. There the embeddings are first multiplied by sqrt(C), which is left to the caller.

    >>> SinusoidalPositions(4)(torch.zeros(1, 1, 4), start=1)    # the second word of a decoder that has said one
    tensor([[[0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    def __init__(self, dim: int, *, base: float = 10000.0) -> None:
        super().__init__()
        self.dim = dim
        self.base = base
        self._kept: Tensor | None = None

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """x [B, T, C] and the position of its first vector -> [B, T, C]."""
        _check_width("sinusoidal", x, self.dim)
        return x + self._places(start, start + x.shape[1], x.device).to(x.dtype)

    def _places(self, start: int, stop: int, device: torch.device) -> Tensor:
        """Return the encodings of positions `start` to `stop`, [stop - start, C]."""
        if stop > _KEPT or start < 0 or torch.compiler.is_compiling():
            return sinusoidal_positions(stop - start, self.dim, start=start, base=self.base, device=device)
        if self._kept is None or self._kept.device != device:
            with torch.inference_mode(False):  # training may use the cache that decoding fills
                self._kept = sinusoidal_positions(_KEPT, self.dim, base=self.base, device=device)
        return self._kept[start:stop]

    def extra_repr(self) -> str:
        return f"{self.dim}, base={self.base:g}"


class LearnedPositions(nn.Module):
    """Adds learned positions: x_t + P_{start + t}.

    Args:
        max_length: L, the longest sequence; a longer one is an error.
        dim: width C of the vectors.

    Parameters: `table` P [L, C], initialised with small sinusoids (standard deviation 0.02), so that words initially
    dominate and near positions are similar. From random noise, attention would have to learn first which are adjacent.

    Shapes: x [B, T, C] -> [B, T, C].

    Gehring et al. 2017, section 3.1; see `regard.ops.learned_positions`.

    >>> positions = LearnedPositions(max_length=9, dim=4)
    >>> positions(torch.zeros(2, 3, 4), start=6).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, max_length: int, dim: int) -> None:
        super().__init__()
        positive("Learned", max_length=max_length)
        self.table = nn.Parameter(torch.empty(max_length, dim))
        self.begin(0.02)

    @torch.no_grad()
    def begin(self, spread: float) -> None:
        """Initialise with sinusoids of a standard deviation."""
        if self.table.is_meta:  # no values to set, and their arithmetic on meta tensors imports sympy
            return
        self.table.copy_(2**0.5 * spread * sinusoidal_positions(*self.table.shape))

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """x [B, T, C] and the position of its first vector -> [B, T, C]."""
        _check_width("learned_positions", x, self.table.shape[1])
        return x + learned_positions(self.table, x.shape[1], start).to(x.dtype)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.table.shape))


def _check_width(mechanism: str, x: Tensor, dim: int) -> None:
    """Check that x is [B, T, C] with C = `dim`."""
    if x.dim() != 3 or x.shape[2] != dim:
        raise ValueError(f"{mechanism}: x must be [B, T, C] with C = {dim}; got shape {list(x.shape)}")
