"""Pairing of a past state with a word."""

from typing import Literal

Pairing = Literal["read", "next"]
"""The word that a state has just read, or the one that came next."""
