"""Triton kernels of the cross-entropy."""

from regard.ops.cross_entropy.kernels.rows import slope, surprise

__all__ = ["slope", "surprise"]
