"""Vectors over their lengths, rounded once."""

from regard.ops.unit_vectors.api import unit_vectors

__all__ = ["unit_vectors"]
