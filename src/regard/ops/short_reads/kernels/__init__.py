"""Triton kernels of short reads."""

from regard.ops.short_reads.kernels.heads import pull, read

__all__ = ["pull", "read"]
