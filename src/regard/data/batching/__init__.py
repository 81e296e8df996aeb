"""Batching: corpora on disk, batch planning, collation and feeds of the training loop."""
