"""Fused cross-entropy over large vocabularies, with label smoothing."""

from regard.ops.cross_entropy.api import cross_entropy

__all__ = ["cross_entropy"]
