"""Tensors that are divided among processes: gathered when they are written, divided when they are read."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

# torch's sharded tensors are imported where they are used: it takes as long as a small model takes to answer.


def whole(tensor: Tensor) -> Tensor:
    """A tensor with all its parts, if it is sharded: then all processes have to ask."""
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def part(tensor: Tensor, like: Tensor) -> Tensor:
    """What this process holds of a whole tensor: the part that `like` is, all of it if `like` is not sharded."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    # Every process has the same tensor, so none sends it; a copy, or all of it would stay.
    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None).clone()


def gathered(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Whole tensors in main memory, one after the other; all processes take part, but only those that `keep` get any.

    >>> import torch
    >>> gathered({"weight": torch.tensor([1.0, 2.0])}, keep=True)
    {'weight': tensor([1., 2.])}
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        full = whole(tensor)
        if keep:
            found[name] = full.detach().cpu()
    return found
