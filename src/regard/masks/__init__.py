"""Masks: the keys that each query may attend to."""

from regard.masks.mask import Mask, MaskBlocks, MaskSpans
from regard.masks.node import MaskShapeError, Shape

__all__ = ["Mask", "MaskBlocks", "MaskShapeError", "MaskSpans", "Shape"]
