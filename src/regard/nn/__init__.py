"""Modules with parameters, built from `regard.ops`."""

from regard.nn.aligners import Aligned, Aligner, Softmax
from regard.nn.attention import Attention
from regard.nn.memory import Memory
from regard.nn.multi_head import MultiHead
from regard.nn.reader import Reader
from regard.nn.scores import Additive, Bilinear, Cosine, Dot, ScaledDot, Score
from regard.nn.state import Past, State
from regard.nn.terms import Term

__all__ = [
    "Additive",
    "Aligned",
    "Aligner",
    "Attention",
    "Bilinear",
    "Cosine",
    "Dot",
    "Memory",
    "MultiHead",
    "Past",
    "Reader",
    "ScaledDot",
    "Score",
    "Softmax",
    "State",
    "Term",
]
