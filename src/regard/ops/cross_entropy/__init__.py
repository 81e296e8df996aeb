"""Cross-entropy over many words, smoothed and plain, whose gradient is written once."""

from regard.ops.cross_entropy.api import cross_entropy

__all__ = ["cross_entropy"]
