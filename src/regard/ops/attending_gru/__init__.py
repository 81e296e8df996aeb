"""A GRU that reads a memory by additive attention at every step: the loop of RNNsearch."""

from regard.ops.attending_gru.api import attending_gru

__all__ = ["attending_gru"]
