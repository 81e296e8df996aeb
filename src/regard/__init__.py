"""Regard: an attention-first toolkit for sequence models. A query reads a memory."""

from typing import TYPE_CHECKING, Any

from regard import nn, ops
from regard.explain import capture
from regard.masks import Mask

if TYPE_CHECKING:
    from regard.loading import load as load

__version__ = "0.1.0"

__all__ = ["Mask", "__version__", "capture", "nn", "ops"]


def __getattr__(name: str) -> Any:
    """`regard.load`, imported when it is asked for: a mechanism alone needs no recipes."""
    if name == "load":
        from regard.loading import load

        return load
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
