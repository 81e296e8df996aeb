"""The public function of unit vectors: checks, and the choice of an implementation."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

from regard.cuda_capture import is_recording
from regard.ops.checks import check_impl
from regard.ops.kernels import kernels_supported

IMPLEMENTATIONS = ("reference", "triton")

_WIDEST = 1024  # a program holds whole vectors
_MANY = 1 << 20  # entries from which on the GPU waits longer for PyTorch's kernel than for Python to launch ours


def unit_vectors(vectors: Tensor, *, softness: float, impl: str | None = None) -> Tensor:
    r"""Each vector over its length, times √D, in its own dtype; computed in float32 at least, and rounded once.

    .. math:: y = \sqrt{D}\, \frac{x}{\sqrt{\lVert x \rVert^2 + \epsilon^2}}

    The factor is what `torch.nn.functional.rms_norm` has, which is the definition: its entries have mean square 1.

    Args:
        vectors: x [B, H, T, D].
        softness: ε > 0; zero vectors stay zero, and no slope exceeds √D / ε.
        impl: `"reference"` (PyTorch, any device), `"triton"` (a kernel that reads and writes once, on a GPU) or None.

    >>> import torch
    >>> unit_vectors(torch.tensor([[[[3.0, 4.0], [0.0, 0.0]]]]), softness=1e-6)      # 0.6 and 0.8, times √2
    tensor([[[[0.8485, 1.1314],
              [0.0000, 0.0000]]]])
    """
    check_impl("unit_vectors", IMPLEMENTATIONS, impl)
    width = vectors.shape[-1]
    if (impl or _method(vectors)) == "triton":
        from regard.ops.unit_vectors.kernels import UnitVectors

        apply: Callable[..., Tensor] = UnitVectors.apply
        return apply(vectors, softness)
    return F.rms_norm(vectors, (width,), eps=softness**2 / max(1, width))


def _method(vectors: Tensor) -> str:
    fits = 0 < vectors.shape[-1] <= _WIDEST and kernels_supported(vectors)
    return "triton" if fits and (is_recording() or vectors.numel() >= _MANY) else "reference"
