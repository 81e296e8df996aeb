"""Graph attention by the definition: the energies of all pairs of nodes, and a mask with the edges."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.ops.softmax import masked_softmax


def weigh(as_source: Tensor, as_target: Tensor, edges: Tensor, slope: float) -> Tensor:
    """α of each edge, [E, H], from what nodes are worth as sources and as targets, [N, H].

    c edges between two nodes weigh as much as energy + log c.
    """
    source, target = edges
    energy = F.leaky_relu(as_target.unsqueeze(1) + as_source, slope)  # [i, j, h]
    count = energy.new_zeros(energy.shape[:2]).index_put((target, source), energy.new_ones(()), accumulate=True)
    weights = masked_softmax(energy.permute(2, 0, 1).unsqueeze(0) + count.log()).squeeze(0)  # [h, i, j]
    return (weights / count.clamp(min=1))[:, target, source].T.contiguous()


def read(weights: Tensor, value: Tensor, edges: Tensor) -> Tensor:
    """Σ_j α_ij value_j with α as a matrix: [E, H], [N, H, D] -> [N, H, D]."""
    source, target = edges
    nodes, heads, _ = value.shape
    matrix = weights.new_zeros(nodes, nodes, heads).index_put((target, source), weights, accumulate=True)
    return torch.einsum("ijh,jhd->ihd", matrix, value)
