"""Sharded tensors: gathered for writing, sharded again after reading."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

# torch's sharded tensors are imported where they are used: it takes as long as a small model takes to answer.


def gather_tensor(tensor: Tensor) -> Tensor:
    """Return the full tensor of a sharded one, called by all processes; other tensors are returned unchanged."""
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local_shard(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the local shard of a tensor that is sharded like `like`; the whole tensor if `like` is not sharded."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    # Every process has the same tensor, so none sends it; a copy, or all of it would stay.
    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None).clone()


def gather_tensors(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Gather full tensors in main memory, one by one; called by all processes; those with `keep` get the result.

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
