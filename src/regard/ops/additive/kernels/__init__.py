"""The Triton kernels of additive attention; imported only when they are asked for, since Triton may be missing."""
