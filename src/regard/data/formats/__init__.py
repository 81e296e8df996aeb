"""Readers of common file formats."""
