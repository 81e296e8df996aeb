"""Parameters, gradients and the optimizer's moments divided among processes: fully sharded data parallelism.

Each process holds one part of every tensor. What a module computes with is gathered before it and let go behind it; its
gradients are summed into the parts they belong to. Rajbhandari et al. 2020 (ZeRO, stage 3); Zhao et al. 2023 (FSDP).
"""

from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import nn

from regard.nn.external_memory import ExternalMemory
from regard.nn.memory import Memory
from regard.nn.shared_memory import SharedMemory
from regard.nn.state import AttentionState
from regard.nn.transformer_layer import LayerState, TransformerLayer
from regard.recipes.sections import Recipe
from regard.runs.sharded_tensors import gather_tensor

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
    """Return True if all processes call the same layers equally often, and do not use them afterwards.

    With scheduled sampling a layer is called once for each token, and processes have texts of different lengths; two
    directions are compared by weights that are made after the layers are done.
    """
    return recipe.train.exposure.sampling is None and not getattr(model, "late_weights", False)


@torch.no_grad()
def load_sharded(model: nn.Module, trained: nn.Module) -> None:
    """Copy the weights of a sharded model into one that is not; all processes take part."""
    learned = trained.state_dict()
    for name, tensor in model.state_dict().items():
        tensor.copy_(gather_tensor(learned[name]))


@cache
def show_states() -> None:
    """Register the states that layers take and return with torch, so that gradients pass through their tensors.

    Older versions look only into containers that they know. States are values, which nothing changes in place, so
    torch need not warn that some of their tensors are views.
    """
    for kind in (LayerState, Memory, AttentionState, SharedMemory, ExternalMemory):
        torch.export.register_dataclass(kind)
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor", UserWarning)
