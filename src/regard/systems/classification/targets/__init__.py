"""Targets: what a text is answered with, by its form in the data."""
