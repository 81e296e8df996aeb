"""`regard bench`: correctness and speed compared with plain PyTorch and its fused attention."""
