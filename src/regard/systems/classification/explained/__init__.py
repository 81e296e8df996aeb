"""Adapters of classifiers for explanation methods."""

from regard.systems.classification.explained.choice import subject_of

__all__ = ["subject_of"]
