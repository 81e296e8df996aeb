"""Attention across Transformer layers: rollout, flow, and norms of weighted values."""

from __future__ import annotations

import torch
from torch import Tensor


def rollout(weights: Tensor, *, residual: float = 0.5) -> Tensor:
    r"""Attention rollout: contribution of each input to each state of the last layer, [B, T, T].

    .. math:: \tilde A = \prod_{l = L}^{1} \bigl((1 - r) \bar A_l + r I\bigr)

    Args:
        weights: self-attention [B, L, H, T, T] of all layers, the first one first; heads are averaged.
        residual: r, the share of the residual connection.

    Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.

    >>> rollout(torch.eye(3).expand(1, 2, 4, 3, 3))[0]
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """
    layers = _with_residual(weights, residual)
    total = layers[:, 0]
    for layer in layers.unbind(1)[1:]:
        total = layer @ total
    return total


def flow(weights: Tensor, *, residual: float = 0.5, looks: Tensor | None = None) -> Tensor:
    """Attention flow: the largest flow from each state of the last layer to each input, [B, T, T].

    Layers form a network with weights as edge capacities. It solves T² maximum-flow problems per text, so it suits
    short texts only.

    Args:
        weights, residual: as in `rollout`.
        looks: [B, T], pooling weights over the states of the last layer; the flow is then that of the pooled vector,
            [B, T], with T maximum-flow problems.

    Abnar & Zuidema 2020, section 3.

    >>> flow(torch.full((1, 2, 1, 2, 2), 0.5), residual=0.0)[0]
    tensor([[1., 1.],
            [1., 1.]])
    """
    layers = _with_residual(weights, residual).cpu()
    if looks is None:
        return torch.stack([_flows(one) for one in layers]).to(weights)
    return torch.cat([_flows(one, look) for one, look in zip(layers, looks.cpu(), strict=True)]).to(weights)


def weighted_norms(weights: Tensor, values: Tensor, output: Tensor) -> Tensor:
    r"""Norm of the weighted value vector that each state receives from each other, [B, T, S].

    .. math:: \Bigl\|\sum_h a^h_{ts} \, v^h_s W_O^h\Bigr\|

    A large weight on a short vector has little effect, so weights alone do not measure the contribution.

    Args:
        weights: [B, H, T, S].
        values: [B, H, S, D], projected.
        output: [C, H * D], weight of the output projection.

    Kobayashi et al. 2020, "Attention is Not Only a Weight", equation 6.

    >>> weighted_norms(torch.tensor([[[[0.5, 0.5]]]]), torch.tensor([[[[3.0], [0.0]]]]), torch.ones(1, 1))
    tensor([[[1.5000, 0.0000]]])
    """
    heads, width = values.shape[1], values.shape[3]
    # Project the values of each head first: then the sum over heads needs no [B, H, T, S, C] tensor.
    mapped = torch.einsum("bhsd,chd->bhsc", values, output.unflatten(1, (heads, width)))  # [B, H, S, C]
    return torch.einsum("bhts,bhsc->btsc", weights, mapped).square().sum(3).sqrt()


def _with_residual(weights: Tensor, residual: float) -> Tensor:
    """Average over heads and mix with the identity of the residual connection, [B, L, T, T]."""
    size = weights.shape[-1]
    return (1 - residual) * weights.mean(2) + residual * torch.eye(size, device=weights.device, dtype=weights.dtype)


def _flows(layers: Tensor, look: Tensor | None = None) -> Tensor:
    """Return maximum flows [T, T] through layers [L, T, T]; [1, T] if `look` [T] pools the last layer."""
    from networkx import DiGraph, maximum_flow_value  # a dependency of PyTorch

    reads = [*layers.tolist(), *([] if look is None else [[look.tolist()]])]
    network = DiGraph()
    for level, rows in enumerate(reads, start=1):
        for t, row in enumerate(rows):
            for s, capacity in enumerate(row):
                if capacity > 0:
                    network.add_edge((level, t), (level - 1, s), capacity=capacity)
    depth, size = len(reads), layers.shape[1]
    found = [
        [maximum_flow_value(network, (depth, t), (0, s)) if (0, s) in network else 0.0 for s in range(size)]
        for t in range(len(reads[-1]))
    ]
    return torch.tensor(found, device="cpu", dtype=layers.dtype)
