"""The steps of the attending GRU as Triton kernels; imported only where they are used."""

from regard.ops.attending_gru.kernels.step import KERNELS

__all__ = ["KERNELS"]
