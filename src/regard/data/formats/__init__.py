"""Formats: readers of the files that people have."""
