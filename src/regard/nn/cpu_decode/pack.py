"""Packing of models for fast decoding on a CPU."""

from __future__ import annotations

import copy
from itertools import chain
from typing import TypeVar

from torch import nn

from regard.nn.attention_module import CapturableModule
from regard.nn.cpu_decode.int8 import Compute, check_compute
from regard.nn.cpu_decode.packing import PackedLinear, packable
from regard.nn.rnn import Recurrent
from regard.nn.transformer_layer import TransformerLayer

M = TypeVar("M", bound=nn.Module)


def pack(model: M, compute: Compute = "float32") -> M:
    """Pack a model in place for fast inference on a CPU: larger linear maps and layer steps use packed weights.

    Parameters and their names are unchanged, and outputs are equal up to rounding; packed weights double the memory of
    the weights. On a GPU or in half precision packing has no effect.

    Args:
        model: the model.
        compute: number type of these products. `"int8"` quantises weights once and vectors as they are multiplied.

    Raises:
        ValueError: int8 on a device other than a CPU, or with a PyTorch build without int8 support.

    >>> model = pack(nn.Sequential(nn.Linear(256, 512), nn.Linear(2, 3)))
    >>> [type(layer).__name__ for layer in model]
    ['PackedLinear', 'Linear']
    """
    check_compute(compute, model)
    for module in list(model.modules()):
        if isinstance(module, Recurrent | TransformerLayer):
            module.pack(compute)
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear and packable(child.weight):
                setattr(module, name, PackedLinear(child, compute).train(child.training))
    return model


def packed_copy(model: M, compute: Compute = "float32") -> M:
    """Return a packed copy that shares parameters, buffers and hooks with the model.

    >>> model = nn.Linear(256, 512)
    >>> packed_copy(nn.Sequential(model))[0].weight is model.weight
    True
    """
    shared: list[object] = list(chain(model.parameters(), model.buffers()))
    shared += [module._watchers for module in model.modules() if isinstance(module, CapturableModule)]
    return pack(copy.deepcopy(model, {id(one): one for one in shared}), compute)
