"""Graph attention along a list of edges, in any order: memory [E, H, D]."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def weigh(as_source: Tensor, as_target: Tensor, edges: Tensor, slope: float) -> Tensor:
    """α of each edge, [E, H], from what nodes are worth as sources and as targets, [N, H].

    A softmax among the edges with the same target, each with its own maximum taken off.
    """
    source, target = edges
    energy = F.leaky_relu(as_target.index_select(0, target) + as_source.index_select(0, source), slope)
    nobody = torch.full_like(as_target, -torch.inf)
    highest = nobody.scatter_reduce(0, target.unsqueeze(1).expand_as(energy), energy.detach(), "amax")
    exp = torch.exp(energy - highest.index_select(0, target))
    total = torch.zeros_like(nobody).index_add(0, target, exp)
    return exp / total.index_select(0, target)


def read(weights: Tensor, value: Tensor, edges: Tensor) -> Tensor:
    """Σ_j α_ij value_j: [E, H], [N, H, D] -> [N, H, D]."""
    source, target = edges
    message = weights.unsqueeze(2) * value.index_select(0, source)
    return torch.zeros_like(value).index_add(0, target, message)
