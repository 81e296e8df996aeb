"""The protocol of one step of the attending GRU, and its definition in plain PyTorch, on any device."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class LoopInputs(NamedTuple):
    """Tensors that every step reads.

    Attributes:
        key: [B, S, A].
        value: [B, S, 3D].
        bias: [B, S], 0 where the memory may be read, -inf elsewhere.
        weight: v [A].
    """

    key: Tensor
    value: Tensor
    bias: Tensor
    weight: Tensor


class LoopSteps(NamedTuple):
    """A step forward and a step back, all between two matrix products.

    Attributes:
        forward: (read, inputs [B, 3D], joint [B, A + 3D], state [B, D]) fills (the state after it [B, D],
            weights [B, S], the open gates r, z, n [B, 3D]).
        backward: (read, gradient of the state after it [B, D], gradient that reaches the state before it from outside
            [B, D] or None, joint, state, weights, gates, gradient of the weights) fills (gradients of inputs and of
            joint, what goes to the state before it around the product [B, D]) and adds to (gradients of the keys
            [B, S, A] and of v [B, A]).
    """

    forward: Callable[..., None]
    backward: Callable[..., None]


def forward(
    read: LoopInputs, inputs: Tensor, joint: Tensor, state: Tensor, after: Tensor, weights: Tensor, opened: Tensor
) -> None:
    """One step; see `LoopSteps`."""
    width = len(read.weight)
    query, recurrent = joint[:, :width], joint[:, width:]
    energy = (read.key + query.unsqueeze(1)).tanh_() @ read.weight + read.bias
    torch.softmax(energy, dim=1, out=weights)
    given = torch.baddbmm(inputs.unsqueeze(1), weights.unsqueeze(1), read.value).squeeze(1)
    (given_both, given_new), (past_both, past_new) = _split(given), _split(recurrent)
    both = torch.sigmoid(given_both + past_both)
    reset, update = both.chunk(2, dim=1)
    new = torch.tanh(given_new + reset * past_new)
    torch.lerp(new, state, update, out=after)
    torch.cat((both, new), dim=1, out=opened)


def backward(
    read: LoopInputs,
    grad: Tensor,
    before: Tensor | None,
    joint: Tensor,
    state: Tensor,
    weights: Tensor,
    opened: Tensor,
    grad_weights: Tensor,
    grad_inputs: Tensor,
    grad_joint: Tensor,
    kept: Tensor,
    grad_key: Tensor,
    grad_weight: Tensor,
) -> None:
    """One step back; see `LoopSteps`."""
    width = len(read.weight)
    reset, update, new = opened.chunk(3, dim=1)
    past_new = _split(joint[:, width:])[1]
    torch.mul(grad, update, out=kept)
    if before is not None:
        kept += before
    grad_new = grad * (1 - update) * (1 - new * new)
    grad_update = grad * (state - new) * update * (1 - update)
    grad_reset = grad_new * past_new * reset * (1 - reset)
    torch.cat((grad_reset, grad_update, grad_new), dim=1, out=grad_inputs)
    felt = torch.bmm(read.value, grad_inputs.unsqueeze(2)).squeeze(2) + grad_weights
    grad_energy = weights * (felt - (weights * felt).sum(1, keepdim=True))
    seen = (read.key + joint[:, None, :width]).tanh_()
    grad_weight += torch.bmm(grad_energy.unsqueeze(1), seen).squeeze(1)
    grad_seen = seen.square_().neg_().add_(1.0).mul_(grad_energy.unsqueeze(2)).mul_(read.weight)
    grad_key += grad_seen
    torch.cat((grad_seen.sum(1), grad_reset, grad_update, grad_new * reset), dim=1, out=grad_joint)


def _split(gates: Tensor) -> tuple[Tensor, Tensor]:
    """Gates [B, 3D] as (reset and update [B, 2D], new [B, D])."""
    third = gates.shape[1] // 3
    return gates[:, : 2 * third], gates[:, 2 * third :]


PLAIN = LoopSteps(forward, backward)
