"""Sharded tensors: gathered when they are written, divided when they are read."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

# torch's sharded tensors are imported where they are used: it takes as long as a small model takes to answer.


def gather_tensor(tensor: Tensor) -> Tensor:
    """Return a sharded tensor with all its parts, on which all processes have to call this; others unchanged."""
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local_shard(tensor: Tensor, like: Tensor) -> Tensor:
    """Return this process's part of a tensor that is sharded as `like` is; all of it if `like` is not sharded."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    # Every process has the same tensor, so none sends it; a copy, or all of it would stay.
    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None).clone()


def gather_tensors(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Return whole tensors in main memory, one by one; all processes take part, those with `keep` get the result.

    >>> import torch
    >>> gather_tensors({"weight": torch.tensor([1.0, 2.0])}, keep=True)
    {'weight': tensor([1., 2.])}
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        full = gather_tensor(tensor)
        if keep:
            found[name] = full.detach().cpu()
    return found
