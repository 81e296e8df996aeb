"""Pictures of attention: they take weights and tokens, and know nothing of models."""

from typing import TYPE_CHECKING

from regard.lazy import lazy

if TYPE_CHECKING:
    from regard.view.terminal import heat_map

__all__ = ["heat_map"]

__getattr__ = lazy(__name__, {"heat_map": "regard.view.terminal"})
