"""Error class of recipes."""

from __future__ import annotations


class RecipeError(ValueError):
    """Invalid recipe; the message names the key, its line and the nearest valid name."""
