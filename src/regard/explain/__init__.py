"""Captures: the attention of a model."""

from regard.explain.capture import Seen, capture

__all__ = ["Seen", "capture"]
