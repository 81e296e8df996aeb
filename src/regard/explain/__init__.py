"""What a model attends to."""

from regard.explain.capture import Seen, capture

__all__ = ["Seen", "capture"]
