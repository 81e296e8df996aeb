"""Pictures of attention: they take weights and tokens, and know nothing of models."""

from regard.view.terminal import heat_map

__all__ = ["heat_map"]
