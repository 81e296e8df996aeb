"""Regard: an attention-first toolkit for sequence models. A query reads a memory."""

from regard import nn, ops
from regard.explain import capture
from regard.masks import Mask

__version__ = "0.1.0"

__all__ = ["Mask", "__version__", "capture", "nn", "ops"]
