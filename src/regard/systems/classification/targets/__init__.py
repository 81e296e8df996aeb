"""Targets of classification: one label, several labels or a number."""
