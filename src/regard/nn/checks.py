"""Checks of sizes and widths: an error names the module, the expected value and the actual one."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.sparse_rows import SparseRows


def mapped(owner: nn.Module, linear: nn.Linear | None, vectors: Tensor, what: str) -> Tensor:
    """Check the width of vectors and apply a linear map, if there is one."""
    if linear is None:
        return vectors
    check_width(owner, vectors, linear.in_features, what)
    result: Tensor = linear(vectors)
    return result


def check_width(owner: nn.Module, vectors: Tensor | SparseRows, width: int, what: str) -> None:
    """Check the width of vectors."""
    if vectors.shape[-1] != width:
        raise ValueError(f"{type(owner).__name__} was made for {what} of width {width}; got {list(vectors.shape)}")


def positive(owner: str, **sizes: int | None) -> None:
    """Check that sizes are at least 1."""
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"{owner}: {name} must be at least 1; got {size}")


def probability(owner: str, **shares: float) -> None:
    """Check that probabilities lie in [0, 1)."""
    for name, share in shares.items():
        if not 0.0 <= share < 1.0:
            raise ValueError(f"{owner}: {name} must lie in [0, 1); got {share}")
