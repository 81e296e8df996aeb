"""Fast decoding on a CPU: packed weights, and layer steps with few operations."""
