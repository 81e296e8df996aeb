"""Reads of a few words by one kernel: a program has all pairs of a head."""

from regard.ops.short_reads.api import short_attention, short_fits

__all__ = ["short_attention", "short_fits"]
