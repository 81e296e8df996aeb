"""Decoding on a CPU: weights in blocks, and steps of layers in as few operations as possible."""
