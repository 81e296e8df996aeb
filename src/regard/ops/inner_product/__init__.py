"""Softmax attention over inner products; shared by dot, scaled dot, bilinear and cosine."""

from regard.ops.inner_product.api import (
    CONDITIONAL,
    IMPLEMENTATIONS,
    KERNELS,
    dot_product_attention,
    may_round,
)
from regard.ops.inner_product.read import Exact, inner_product

__all__ = [
    "CONDITIONAL",
    "IMPLEMENTATIONS",
    "KERNELS",
    "Exact",
    "dot_product_attention",
    "inner_product",
    "may_round",
]
