"""Int8 products on a CPU.

Weights have one scale per row. Activations are quantised dynamically with one scale per product, so a result depends
slightly on its batch, unlike in float32. oneDNN and FBGEMM quantise, multiply and add the bias in one operation. One
scale per vector would need six more operations around `torch._int_mm`, slower than float32 at 160 vectors.

Measured on an AMD EPYC with AVX-512 VNNI, one thread, microseconds in float32 (`Packing`) and in eight bits: 256 x 768
with 1 vector 18 and 12, with 5 27 and 14, with 32 82 and 34; 256 x 8,000 146 and 37, 146 and 49, 782 and 232.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Compute = Literal["float32", "int8"]
"""Number type of products."""

_OPERATIONS = ("linear_prepack", "linear_dynamic", "linear_relu_dynamic")


class Int8Weight(NamedTuple):
    """Int8 matrix with its bias, in PyTorch's packed format.

    >>> x, weight = torch.randn(3, 256), torch.randn(128, 256)
    >>> error = Int8Weight.of(weight, None).product(x, None) - x @ weight.T
    >>> error.norm() < 0.02 * (x @ weight.T).norm()
    tensor(True)
    """

    packed: Any
    reduced: bool

    @staticmethod
    def of(weight: Tensor, bias: Tensor | None) -> Int8Weight:
        """Quantise a matrix [out, in]; the largest absolute weight of a row becomes 127."""
        scale = weight.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny * 127) / 127
        with warnings.catch_warnings():  # PyTorch 2.13 warns that the type of packed weights will change
            warnings.filterwarnings("ignore", message=".*deprecated.*", category=UserWarning)
            zero = torch.zeros(len(weight), dtype=torch.long, device="cpu")
            rows = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
            packed = torch.ops.quantized.linear_prepack(rows, bias)
        # Without VNNI, sums of two products overflow 16 bits, so activations are quantised to 7 bits.
        return Int8Weight(packed, not torch.cpu._is_vnni_supported())

    def product(self, x: Tensor, then: Any) -> Tensor:
        """Compute `then`(x Wᵀ + b): [..., in] -> [..., out]."""
        product: Tensor
        if then is F.relu:
            product = torch.ops.quantized.linear_relu_dynamic(x, self.packed, self.reduced)
            return product
        product = torch.ops.quantized.linear_dynamic(x, self.packed, self.reduced)
        return product if then is None else then(product)


def check_compute(compute: str, model: nn.Module) -> None:
    """Check that a model supports a number type for its products.

    >>> check_compute("int4", nn.Linear(1, 1))
    Traceback (most recent call last):
    ValueError: compute is float32 or int8; got 'int4'
    """
    if compute not in get_args(Compute):
        raise ValueError(f"compute is {' or '.join(get_args(Compute))}; got {compute!r}")
    if compute == "int8" and any(parameter.device.type != "cpu" for parameter in model.parameters()):
        raise ValueError("compute='int8' is for a CPU; set device to 'cpu', or leave compute out")
    if compute == "int8" and not all(hasattr(torch.ops.quantized, name) for name in _OPERATIONS):
        raise ValueError(f"torch {torch.__version__} has no products in eight bits; leave compute='int8' out")
