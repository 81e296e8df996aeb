"""The public function of the cross-entropy: checks, and the choice of an implementation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.ops.checks import check_impl
from regard.ops.cross_entropy.reference import CrossEntropyFunction
from regard.ops.kernels import kernels_supported

IMPLEMENTATIONS = ("reference", "triton")
_MANY = 1024  # words from which on reading them once is worth the launch of a kernel


def cross_entropy(
    logits: Tensor, target: Tensor, weight: Tensor, *, smoothing: float = 0.0, impl: str | None = None
) -> tuple[Tensor, Tensor]:
    r"""Σ_n w_n of the cross-entropy of each row, smoothed and plain.

    .. math:: L_n = -(1 - ε) \log p_{n,y_n} - \frac{ε}{V} \sum_v \log p_{nv}, \quad p_n = \mathrm{softmax}(x_n)

    .. math:: \partial L_n / \partial x_{nv} = p_{nv} - ε / V - (1 - ε) [v = y_n]

    Logits are the largest tensor of an update, and each look at them costs as much as a layer. The gradient is made in
    one tensor, in the dtype of the logits; sums are in float32 at least.

    Args:
        logits: x [N, V].
        target: y [N], ids from 0 to V - 1.
        weight: w [N]; 0 for a row that does not count.
        smoothing: ε (Szegedy et al. 2016).
        impl: `"reference"` (PyTorch, any device), `"triton"` (a kernel that looks once forward and once back, on a GPU)
            or None to choose.

    Returns:
        The smoothed sum, and the plain one, which has no gradient.

    >>> cross_entropy(torch.zeros(2, 4), torch.tensor([1, 0]), torch.tensor([1.0, 0.0]), smoothing=0.1)    # log 4
    (tensor(1.3863), tensor(1.3863))
    """
    check_impl("cross_entropy", IMPLEMENTATIONS, impl)
    function: type[torch.autograd.Function] = CrossEntropyFunction
    if (impl or _method(logits)) == "triton":
        from regard.ops.cross_entropy.kernels import FusedCrossEntropy

        function = FusedCrossEntropy
    apply: Callable[..., tuple[Tensor, Tensor]] = function.apply
    return apply(logits, target, weight, smoothing)


def _method(logits: Tensor) -> str:
    return "triton" if logits.shape[1] >= _MANY and kernels_supported(logits) else "reference"
