"""Masks: the keys that each query may attend to."""

from regard.masks.mask import Blocks, Mask, Spans
from regard.masks.node import MaskShapeError, Shape

__all__ = ["Blocks", "Mask", "MaskShapeError", "Shape", "Spans"]
