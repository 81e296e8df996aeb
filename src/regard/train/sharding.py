"""Fully sharded data parallelism: parameters, gradients and optimizer state divided among processes.

Each process holds one shard of every tensor. The parameters of a module are gathered before its forward and backward
passes and freed afterwards; gradients are reduce-scattered to the shards. Rajbhandari et al. 2020 (ZeRO, stage 3); Zhao
et al. 2023 (FSDP).
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

# Imports of torch.distributed are local, because they take as long as the prediction of a small model.


def shard(objective: nn.Module, device: torch.device, *, layers: bool) -> None:
    """Shard the parameters of a module among all processes, in place.

    Args:
        objective: model and loss; only its `forward` may use the parameters.
        device: device of this process, whose type all processes share.
        layers: True to gather each Transformer layer separately, while it is used; False to gather all parameters
            together.
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
    """Return True if layers can be gathered one at a time: all processes call each equally often, and not later.

    With scheduled sampling, a layer is called once per token, and the processes have texts of different lengths.
    Agreement of two directions uses attention weights that are computed after the layers have finished.
    """
    return recipe.train.exposure.sampling is None and not getattr(model, "late_weights", False)


@torch.no_grad()
def load_sharded(model: nn.Module, trained: nn.Module) -> None:
    """Copy the weights of a sharded model into an unsharded one; a collective operation of all processes."""
    learned = trained.state_dict()
    for name, tensor in model.state_dict().items():
        tensor.copy_(gather_tensor(learned[name]))


@cache
def show_states() -> None:
    """Register the states of layers as pytrees, so that FSDP finds their tensors and hooks their gradients.

    Older versions of torch search only in known containers. States are never modified in place, so the warning about
    views among their tensors is unnecessary.
    """
    for kind in (LayerState, Memory, AttentionState, SharedMemory, ExternalMemory):
        torch.export.register_dataclass(kind)
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor", UserWarning)
