"""Triton kernels of unit vectors."""

from regard.ops.unit_vectors.kernels.rows import shorten, turn

__all__ = ["shorten", "turn"]
