"""Batching: corpora on disk, and which of their examples go together."""
