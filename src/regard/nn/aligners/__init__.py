"""Aligners: how energies become weights."""

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.aligners.softmax import Softmax

__all__ = ["Aligned", "Aligner", "Softmax"]
