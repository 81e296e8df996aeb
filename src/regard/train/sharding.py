"""Parameters, gradients and the optimizer's moments divided among processes: fully sharded data parallelism.

Each process holds one part of every tensor. What a module computes with is gathered before it and let go behind it; its
gradients are summed into the parts they belong to. Rajbhandari et al. 2020 (ZeRO, stage 3); Zhao et al. 2023 (FSDP).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache

import torch
from torch import Tensor, nn

from regard.models.bidirectional import Bidirectional
from regard.nn.external import ExternalMemory
from regard.nn.memory import Memory
from regard.nn.sharing import SharedMemory
from regard.nn.state import State
from regard.nn.transformer_layer import LayerState, TransformerLayer
from regard.recipes.sections import Recipe

# torch's sharded tensors are imported where they are used: it takes as long as a small model takes to answer.


def shard(objective: nn.Module, device: torch.device, *, layers: bool) -> None:
    """Divide the parameters of a module on `device` among all processes, in place.

    Args:
        objective: what is trained; its `forward` is all that computes with the parameters.
        device: what kind of device the processes compute on.
        layers: whether each Transformer layer is gathered by itself, while it computes, and not all at once.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    inner = [module for module in objective.modules() if layers and isinstance(module, TransformerLayer)]
    if inner:
        show_states()
    for layer in inner:
        fully_shard(layer, mesh=mesh)
        register_fsdp_forward_method(layer, "remember")
        register_fsdp_forward_method(layer, "extend")
    fully_shard(objective, mesh=mesh)


def by_layer(model: nn.Module, recipe: Recipe) -> bool:
    """Whether all processes compute with the same layers, equally often, and are done with them then.

    With scheduled sampling a layer is called once for each token, and processes have texts of different lengths; two
    directions are compared by weights that are made after the layers are done.
    """
    return recipe.train.exposure.sampling is None and not isinstance(model, Bidirectional)


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

    >>> gathered({"weight": torch.tensor([1.0, 2.0])}, keep=True)
    {'weight': tensor([1., 2.])}
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        full = whole(tensor)
        if keep:
            found[name] = full.detach().cpu()
    return found


@torch.no_grad()
def fill(model: nn.Module, trained: nn.Module) -> None:
    """Give a model that is not sharded what one that is has learned; all processes take part."""
    learned = trained.state_dict()
    for name, tensor in model.state_dict().items():
        tensor.copy_(whole(learned[name]))


@cache
def show_states() -> None:
    """Have torch see the tensors inside the states that layers take and return: gradients pass through them.

    Older versions look only into containers that they know. States are values, which nothing changes in place, so
    torch need not warn that some of their tensors are views.
    """
    for kind in (LayerState, Memory, State, SharedMemory, ExternalMemory):
        torch.export.register_dataclass(kind)
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor", UserWarning)
