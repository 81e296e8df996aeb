"""Packed weight matrices, for fast products with few vectors on a CPU.

A step of a decoder multiplies a few vectors by every weight of the model. oneDNN packs a matrix into blocks once,
instead of at every call. A single vector is multiplied by the two halves of the unpacked matrix as a batch of two
products: PyTorch dispatches these to a routine for small products, which reads weights three times as fast as the
matrix-vector routine, and on two cores in parallel.

Measured on an AMD EPYC with AVX-512 in float32, over the 19 MB of a decoder's weights in the order of their use, since
a loop over one matrix finds it in the cache: one vector takes 0.77 ms in halves, 1.3 in blocks and 2.2 as torch has it,
on two cores 0.35, 0.6 and 1.0; five vectors 1.3 in blocks and 3.1 as torch has it, 32 take 4.0 and 6.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.cpu_decode.int8 import Compute, Int8Weight

SMALL = 1 << 15
"""Weights below which blocks do not pay: the product takes less time than the way to oneDNN."""

Activation = Callable[[Tensor], Tensor]

_IN_ONE: dict[Activation | None, tuple[str, str]] = {
    None: ("none", ""),
    F.relu: ("relu", ""),
    F.gelu: ("gelu", "none"),
    torch.tanh: ("tanh", ""),
}
"""Activations that oneDNN fuses with a product, by its names for them."""

_OPERATIONS = ("_reorder_linear_weight", "_linear_pointwise")
"""Those of torch that lay out and multiply. They are not promised: without them products are torch's own."""


class Packing:
    """Packed layouts of one matrix or several stacked ones: halves for a single vector, blocks for several vectors.

    Each layout is created lazily and again after a matrix has changed. Layouts are used only where they are valid and
    fast: on a CPU, in float32, without gradient. So a packed model can still be trained, saved, copied and moved.

    Args:
        scale: factor of the first of several matrices and of its bias.
        compute: number type of the products; see `Int8Weight`.

    >>> x, weight = torch.randn(3, 256), torch.randn(128, 256)
    >>> with torch.inference_mode():
    ...     print((Packing().linear(x, weight, None) - x @ weight.T).abs().max() < 1e-4)
    tensor(True)
    """

    def __init__(self, scale: float = 1.0, compute: Compute = "float32") -> None:
        self._scale = scale
        self._compute: Compute = compute
        self._made_of: list[tuple[int, int]] = []
        self._kept: tuple[Tensor, ...] = ()
        self._weight: Tensor | None = None
        self._bias: Tensor | None = None
        self._blocks: Tensor | None = None
        self._halves: _Halves | None = None
        self._int8: Int8Weight | None = None

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None, then: Activation | None = None) -> Tensor:
        """x Wᵀ + b, and `then` of it: [..., in] -> [..., out]."""
        if _wanted(x) and self._ready((weight,), () if bias is None else (bias,)):
            return self._product(x, then)
        product = F.linear(x, weight, bias)
        return product if then is None else then(product)

    def stacked(self, x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
        """Compute [s (x W_1ᵀ + b_1); x W_2ᵀ + b_2; ...] as one product, s the scale: [..., in] -> [..., all outs]."""
        if _wanted(x) and self._ready(weights, biases):
            return self._product(x, None)
        first, *rest = (F.linear(x, weight, bias) for weight, bias in zip(weights, biases, strict=True))
        return torch.cat([first * self._scale, *rest], -1)

    def _product(self, x: Tensor, then: Activation | None) -> Tensor:
        assert self._weight is not None
        if self._compute == "int8" and x.numel():
            if self._int8 is None:
                self._int8 = Int8Weight.of(self._weight, self._bias)
            return self._int8.product(x, then)
        if x.numel() == x.shape[-1]:
            if self._halves is None:
                self._halves = _Halves.of(self._weight, self._bias)
            return self._halves.product(x, then)
        if self._blocks is None:
            self._blocks = torch.ops.mkldnn._reorder_linear_weight(self._weight)
        name, variant = _IN_ONE[then]
        together: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._blocks, self._bias, name, [], variant)
        return together

    def _ready(self, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> bool:
        """Return whether layouts of these weights exist; create them if missing or stale, where valid and fast."""
        parts = (*weights, *biases)
        try:
            stamps = [(part.data_ptr(), part._version) for part in parts]
        except RuntimeError:  # tensors made in inference mode have no version
            stamps = [(part.data_ptr(), 0 if part.is_inference() else part._version) for part in parts]
        if stamps == self._made_of:
            return True
        if not packable(*weights):
            return False
        self._blocks = self._halves = self._int8 = None
        self._weight = _joined(weights, self._scale)
        self._bias = _joined(biases, self._scale) if biases else None
        # Keep the tensors alive, so that their addresses, which identify them, are not reused.
        self._made_of, self._kept = stamps, tuple(part.detach() for part in parts)
        return True

    def __deepcopy__(self, memo: dict[int, object]) -> Packing:
        return Packing(self._scale, self._compute)

    def __reduce__(self) -> tuple[type[Packing], tuple[float, Compute]]:
        return Packing, (self._scale, self._compute)


class _Halves(NamedTuple):
    """Halves of a matrix [2, out / 2, in] and of its bias [2, out / 2, 1], and the number of valid rows."""

    weight: Tensor
    bias: Tensor | None
    size: int

    @staticmethod
    def of(weight: Tensor, bias: Tensor | None) -> _Halves:
        """Return views of the matrix, or a copy with one more row if the number of rows is odd."""
        size, width = weight.shape
        if size % 2:
            weight, bias = F.pad(weight, (0, 0, 0, 1)), None if bias is None else F.pad(bias, (0, 1))
        return _Halves(weight.view(2, -1, width), None if bias is None else bias.view(2, -1, 1), size)

    def product(self, x: Tensor, then: Activation | None) -> Tensor:
        """Compute `then`(W x + b) of a single vector: [..., in] -> [..., out]."""
        weight, bias, size = self
        *outer, width = x.shape
        # Give the column strides equal to its length: with strides of 1 the product takes many times as long.
        column = x.contiguous().as_strided((2, width, 1), (0, 1, width))
        product = torch.bmm(weight, column) if bias is None else torch.baddbmm(bias, weight, column)
        if then is not None:
            # Transposed, since PyTorch dispatches contiguous rows to oneDNN, whose overhead exceeds a GELU.
            product = then(product.squeeze(2).mT).mT
        return (product.reshape(-1)[:size] if size % 2 else product).view(*outer, size)


class PackedLinear(nn.Linear):
    """`nn.Linear` with the same parameters, computed with `Packing` where it is valid and fast."""

    def __init__(self, linear: nn.Linear, compute: Compute = "float32") -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._packing = Packing(compute=compute)

    def forward(self, x: Tensor, then: Activation | None = None) -> Tensor:
        return self._packing.linear(x, self.weight, self.bias, then)


def linear_then(linear: nn.Linear, x: Tensor, then: Activation) -> Tensor:
    """Compute `then`(`linear`(x)), fused if the map is packed."""
    made: Tensor = linear(x, then) if isinstance(linear, PackedLinear) else then(linear(x))
    return made


def packable(*weights: Tensor) -> bool:
    """Return whether packed layouts of a matrix, or of stacked matrices, are valid and fast."""
    fits = all(weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in weights)
    large = sum(weight.numel() for weight in weights) >= SMALL
    return fits and large and torch.backends.mkldnn.is_available() and _known()


def _joined(parts: Sequence[Tensor], scale: float) -> Tensor:
    """Stack tensors, the first one scaled; a single unscaled tensor is not copied."""
    first, *rest = (part.detach() for part in parts)
    first = first if scale == 1.0 else first * scale
    return torch.cat((first, *rest)) if rest else first.contiguous()


def _wanted(x: Tensor) -> bool:
    return x.dtype == torch.float32 and not torch.is_grad_enabled()


def _known() -> bool:
    """Return whether this build of PyTorch has the operations."""
    return all(hasattr(torch.ops.mkldnn, name) for name in _OPERATIONS)
