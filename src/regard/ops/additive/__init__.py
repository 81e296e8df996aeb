"""Additive attention (Bahdanau, Cho & Bengio 2015)."""

from regard.ops.additive.api import CARD, WITHOUT_DROPOUT, additive_attention, additive_score

__all__ = ["CARD", "WITHOUT_DROPOUT", "additive_attention", "additive_score"]
