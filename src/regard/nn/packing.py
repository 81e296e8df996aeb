"""A matrix laid out for the processor: what makes decoding on a CPU fast.

A step of a decoder multiplies a few vectors by every weight of the model. oneDNN lays a matrix out in blocks once, and
then multiplies without laying it out anew at every call. Measured alone, on one core of an AMD EPYC with AVX-512 in
float32, torch's own product of 256 x 8,000 weights with 5 vectors takes four times as long, with 32 twice to three
times, with 160 half as long again; of smaller matrices 1.2 to 2.5 times as long. A single vector is fastest, by half
again, over the columns of a matrix, which torch adds up; not so where the columns are short and many.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

SMALL = 1 << 15
"""Weights below which blocks do not pay: the product takes less time than the way to oneDNN."""

_OPERATIONS = ("_reorder_linear_weight", "_linear_pointwise")
"""Those of torch that lay out and multiply. They are not promised: without them products are torch's own."""


class Packing:
    """One matrix, or several on top of each other, in blocks and by columns.

    Each layout is made when it is first needed and again after a matrix has changed. They are used only where they are
    right and fast: on a CPU, in float32, without gradient. So a packed model can still be trained, saved, copied and
    moved.

    >>> x, weight = torch.randn(3, 256), torch.randn(128, 256)
    >>> with torch.inference_mode():
    ...     print((Packing().linear(x, weight, None) - x @ weight.T).abs().max() < 1e-4)
    tensor(True)
    """

    def __init__(self) -> None:
        self._made_of: list[tuple[Tensor, int]] = []
        self._weight: Tensor | None = None
        self._bias: Tensor | None = None
        self._blocks: Tensor | None = None
        self._columns: Tensor | None = None

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """x Wᵀ + b: [..., in] -> [..., out]."""
        if not _wanted(x) or not (self._current((weight,)) or self._take((weight,))):
            return F.linear(x, weight, bias)
        return self._product(x, bias)

    def stacked(self, x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
        """[x W_1ᵀ + b_1; x W_2ᵀ + b_2; ...] as one product: [..., in] -> [..., all outs]."""
        if not _wanted(x) or not (self._current((*weights, *biases)) or self._take(weights, biases)):
            return torch.cat([F.linear(x, weight, bias) for weight, bias in zip(weights, biases, strict=True)], -1)
        return self._product(x, self._bias)

    def _product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        assert self._weight is not None
        if x.numel() == x.shape[-1] and self._weight.shape[0] >= self._weight.shape[1]:
            if self._columns is None:
                self._columns = self._weight.t().contiguous()
            if bias is not None and x.dim() == 2:
                return torch.addmm(bias, x, self._columns)  # what `F.linear` would come to, with fewer views
            return F.linear(x, self._columns.t(), bias)
        if self._blocks is None:
            self._blocks = torch.ops.mkldnn._reorder_linear_weight(self._weight)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._blocks, bias, "none", [], "")
        return product

    def _current(self, parts: Sequence[Tensor]) -> bool:
        """Whether these tensors are what was taken, as it was then."""
        if len(parts) != len(self._made_of):
            return False
        for part, (before, then) in zip(parts, self._made_of, strict=True):
            if before.data_ptr() != part.data_ptr() or then != _version(part):
                return False
        return True

    def _take(self, weights: Sequence[Tensor], biases: Sequence[Tensor] = ()) -> bool:
        """Begin anew with these, where layouts of them would be right and fast."""
        if not packable(*weights):
            return False
        self._blocks = self._columns = None
        # Kept alive, so that nothing else comes to lie at their addresses.
        self._made_of = [(part.detach(), _version(part)) for part in (*weights, *biases)]
        self._weight = (weights[0] if len(weights) == 1 else torch.cat(tuple(weights))).detach()
        self._bias = torch.cat(tuple(biases)).detach() if biases else None
        return True

    def __deepcopy__(self, memo: dict[int, object]) -> Packing:
        return Packing()

    def __reduce__(self) -> tuple[type[Packing], tuple[()]]:
        return Packing, ()


def packable(*weights: Tensor) -> bool:
    """Whether layouts of this matrix, or of these on top of each other, would be right and fast."""
    fits = all(weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in weights)
    large = sum(weight.numel() for weight in weights) >= SMALL
    return fits and large and torch.backends.mkldnn.is_available() and _known()


def _wanted(x: Tensor) -> bool:
    return x.dtype == torch.float32 and not torch.is_grad_enabled()


def _known() -> bool:
    """Whether this torch has the operations."""
    return all(hasattr(torch.ops.mkldnn, name) for name in _OPERATIONS)


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version
