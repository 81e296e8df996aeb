"""Aligners: from energies to weights."""

from regard.nn.aligners.addressing import Addressing
from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.aligners.hard import Hard
from regard.nn.aligners.local_m import LocalM
from regard.nn.aligners.local_p import LocalP
from regard.nn.aligners.softmax import LinearAligner, SlotSoftmax, Softmax

__all__ = ["Addressing", "Aligned", "Aligner", "Hard", "LinearAligner", "LocalM", "LocalP", "SlotSoftmax", "Softmax"]
