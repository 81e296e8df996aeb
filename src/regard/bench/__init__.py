"""`regard bench`: ours beside plain PyTorch and its fused attention, correct first, then timed."""
