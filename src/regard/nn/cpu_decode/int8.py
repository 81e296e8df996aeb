"""Products in eight bits on a CPU.

Weights have a scale per row. Vectors are quantised when they are multiplied, with one scale for all vectors of the
product, so that a result depends a little on its batch; in float32 it does not. oneDNN and FBGEMM quantise, multiply
and add the bias in one operation. The same with a scale per vector takes six more operations around `torch._int_mm`:
at 160 vectors longer than float32.

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
    """A matrix in eight bits with its bias, as torch packs it.

    >>> x, weight = torch.randn(3, 256), torch.randn(128, 256)
    >>> error = Int8Weight.of(weight, None).product(x, None) - x @ weight.T
    >>> error.norm() < 0.02 * (x @ weight.T).norm()
    tensor(True)
    """

    packed: Any
    reduced: bool

    @staticmethod
    def of(weight: Tensor, bias: Tensor | None) -> Int8Weight:
        """Quantise a matrix [out, in]: the largest weight of a row becomes 127."""
        scale = weight.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny * 127) / 127
        with warnings.catch_warnings():  # torch 2.13 announces another type for what it packs
            warnings.filterwarnings("ignore", message=".*deprecated.*", category=UserWarning)
            zero = torch.zeros(len(weight), dtype=torch.long, device="cpu")
            rows = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
            packed = torch.ops.quantized.linear_prepack(rows, bias)
        # Without VNNI sums of two products overflow 16 bits; vectors have seven bits then.
        return Int8Weight(packed, not torch.cpu._is_vnni_supported())

    def product(self, x: Tensor, then: Any) -> Tensor:
        """x Wᵀ + b, and `then` of it: [..., in] -> [..., out]."""
        product: Tensor
        if then is F.relu:
            product = torch.ops.quantized.linear_relu_dynamic(x, self.packed, self.reduced)
            return product
        product = torch.ops.quantized.linear_dynamic(x, self.packed, self.reduced)
        return product if then is None else then(product)


def check_compute(compute: str, model: nn.Module) -> None:
    """Refuse a number type that products of a model cannot have.

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
