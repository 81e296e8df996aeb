"""Comparison of a recipe with several values of any key, side by side."""
