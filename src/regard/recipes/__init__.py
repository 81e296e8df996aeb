"""Recipes: one YAML file says what to train, on what, and how."""
