"""Pure functions of tensors: the definition of each mechanism, and its faster implementations."""

from regard.ops.additive import additive_attention, additive_score
from regard.ops.attended import Attended, TopK
from regard.ops.bilinear import bilinear_attention, bilinear_score
from regard.ops.card import Card
from regard.ops.cosine import cosine_attention, cosine_score
from regard.ops.dot import dot_attention, dot_score
from regard.ops.scaled_dot import scaled_dot_attention, scaled_dot_score
from regard.ops.softmax import masked_softmax, softmax_attention

__all__ = [
    "Attended",
    "Card",
    "TopK",
    "additive_attention",
    "additive_score",
    "bilinear_attention",
    "bilinear_score",
    "cosine_attention",
    "cosine_score",
    "dot_attention",
    "dot_score",
    "masked_softmax",
    "scaled_dot_attention",
    "scaled_dot_score",
    "softmax_attention",
]
