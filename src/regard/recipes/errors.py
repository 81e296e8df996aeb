"""Errors of recipes, each in one sentence."""

from __future__ import annotations


class RecipeError(ValueError):
    """A recipe that cannot be run: the sentence names the key, its line and the nearest valid one."""
