"""Models made ready to answer on a CPU."""

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
    """Make a model ready to answer on a CPU, in place: its larger maps and the steps of its layers multiply in blocks.

    Parameters, their names and what the model computes stay the same, up to rounding; the blocks take the memory of
    the weights once more. Where blocks are of no use, on a GPU or in half precision, nothing changes.

    Args:
        model: the model.
        compute: number type of these products. `"int8"` quantises weights once and vectors as they are multiplied.

    Raises:
        ValueError: eight bits on another device than a CPU, or in a torch without them.

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
    """A packed copy, which has the parameters and buffers of the model itself; who watches one sees both.

    >>> model = nn.Linear(256, 512)
    >>> packed_copy(nn.Sequential(model))[0].weight is model.weight
    True
    """
    shared: list[object] = list(chain(model.parameters(), model.buffers()))
    shared += [module._watchers for module in model.modules() if isinstance(module, CapturableModule)]
    return pack(copy.deepcopy(model, {id(one): one for one in shared}), compute)
