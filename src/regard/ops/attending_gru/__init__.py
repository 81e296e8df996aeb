"""Attending GRU: a GRU with additive attention to a memory at every step, the loop of RNNsearch."""

from regard.ops.attending_gru.api import attending_gru

__all__ = ["attending_gru"]
