"""Public function of the cross-entropy: argument checks and dispatch to an implementation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.ops.checks import check_impl
from regard.ops.cross_entropy.reference import CrossEntropyFunction
from regard.ops.kernels import kernels_supported

IMPLEMENTATIONS = ("reference", "triton")
_MANY = 1024  # minimum vocabulary size for which a single pass outweighs the launch of a kernel


def cross_entropy(
    logits: Tensor, target: Tensor, weight: Tensor, *, smoothing: float = 0.0, impl: str | None = None
) -> tuple[Tensor, Tensor]:
    r"""Compute the weighted sum of the cross-entropy over rows, with and without label smoothing.

    .. math:: L_n = -(1 - ε) \log p_{n,y_n} - \frac{ε}{V} \sum_v \log p_{nv}, \quad p_n = \mathrm{softmax}(x_n)

    .. math:: \partial L_n / \partial x_{nv} = p_{nv} - ε / V - (1 - ε) [v = y_n]

    Logits are the largest tensor of an update, and each pass over them costs as much as a layer. The gradient is one
    tensor in the dtype of the logits; sums are in at least float32.

    Args:
        logits: x [N, V].
        target: y [N], ids from 0 to V - 1.
        weight: w [N]; 0 excludes a row.
        smoothing: ε (Szegedy et al. 2016).
        impl: `"reference"` (PyTorch, any device), `"triton"` (a GPU kernel with one pass forward and one backward) or
            None to choose automatically.

    Returns:
        The smoothed sum, and the unsmoothed one, which has no gradient.

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
