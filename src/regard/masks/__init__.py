"""What a query may attend to."""

from regard.masks.mask import Blocks, Mask
from regard.masks.node import MaskShapeError, Shape

__all__ = ["Blocks", "Mask", "MaskShapeError", "Shape"]
