"""Additive attention (Bahdanau, Cho & Bengio 2015)."""

from regard.ops.additive.api import CARD, additive_attention, additive_score

__all__ = ["CARD", "additive_attention", "additive_score"]
