"""Triton kernels of graph attention."""

from regard.ops.graph.kernels.backward import pull_edges, sum_edges
from regard.ops.graph.kernels.forward import read_edges

__all__ = ["pull_edges", "read_edges", "sum_edges"]
