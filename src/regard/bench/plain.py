"""Plain PyTorch baselines, in the dtype of the inputs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def read(energy: Tensor, value: Tensor, allowed: Tensor | None) -> Tensor:
    """Masked softmax(energy) times value; fully masked rows give zeros."""
    if allowed is None:
        return energy.softmax(-1) @ value
    return energy.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num(0.0) @ value


def scaled_dot(query: Tensor, key: Tensor) -> Tensor:
    """q.k / sqrt(D)."""
    energy: Tensor = (query / query.shape[-1] ** 0.5) @ key.mT
    return energy


def bilinear(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """q W k."""
    return (query @ weight) @ key.mT


def cosine(query: Tensor, key: Tensor) -> Tensor:
    """cos(q, k)."""
    return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT


def additive(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """v tanh(q + k), with a [B, H, T, S, A] intermediate."""
    return (torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)) @ weight[:, None, :, None]).squeeze(-1)


def graph(node: Tensor, weight_source: Tensor, weight_target: Tensor, edges: Tensor) -> Tensor:
    """Dense graph attention over all node pairs, [N, H, D]."""
    source, target = (node * weight_source).sum(2), (node * weight_target).sum(2)
    count = node.shape[0]
    pairs = torch.zeros(count * count, dtype=torch.bool, device=node.device)
    allowed = pairs.index_fill(0, edges[1] * count + edges[0], True).view(count, count)  # no copy from the CPU
    energy = F.leaky_relu(target.T.unsqueeze(2) + source.T.unsqueeze(1), 0.2)
    return read(energy, node.transpose(0, 1), allowed).transpose(0, 1)  # [H, N, D] -> [N, H, D]
