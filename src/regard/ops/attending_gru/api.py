"""The public function of the attending GRU: checks, the choice of an implementation of its steps, and the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.ops.attending_gru import reference
from regard.ops.attending_gru.reference import LoopInputs, LoopSteps
from regard.ops.checks import check_impl
from regard.ops.kernels import kernels_supported
from regard.ops.softmax import full_precision, statistics_dtype

IMPLEMENTATIONS = ("reference", "triton")
_LONGEST = 512  # keys that a kernel holds the energies of


def attending_gru(
    inputs: Tensor,
    hidden: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor,
    joint_weight: Tensor,
    joint_bias: Tensor,
    weight: Tensor,
    *,
    impl: str | None = None,
) -> tuple[Tensor, Tensor]:
    r"""The decoder loop of RNNsearch, with all step-independent computation hoisted out of it.

    .. math:: [q_t; g'_t] = M h_{t-1} + m, \quad a_t = \mathrm{softmax}_s\bigl(v^\top \tanh(q_t + k_s)\bigr), \quad
              g_t = x_t + \sum_s a_{ts} u_s \\
              r_t, z_t = \sigma(g_t + g'_t), \quad n_t = \tanh(g_t + r_t \odot g'_t), \quad
              h_t = (1 - z_t) \odot n_t + z_t \odot h_{t-1}

    W c_t = W Σ_s a_ts h_s is Σ_s a_ts (W h_s): the memory is mapped to the gates once, as `value`, and the loop
    computes no context. One product M h_{t-1} gives both the query and the recurrent part of the gates. The gradients
    of M and of `value` are one product over all steps at the end. [B, T, S, A] is never stored: tanh is recomputed.

    Args:
        inputs: x [T, B, 3D], contributions of the words to the gates (r, z, n), including the input bias.
        hidden: h_0 [B, D].
        key: k [B, S, A], projected.
        value: u [B, S, 3D], contributions of each memory position to the gates.
        allowed: [B, S], True at positions that may be attended; a row of False gets zero weights.
        joint_weight: M [A + 3D, D], the map of queries above the recurrent weights.
        joint_bias: m [A + 3D].
        weight: v [A].
        impl: `"reference"` (plain PyTorch, any device), `"triton"` (one kernel per step, on a GPU) or None to choose.

    Returns:
        States h_1 ... h_T [T, B, D] and weights [T, B, S], in float32 for half-precision inputs.

    Bahdanau, Cho & Bengio 2015, appendix A.2.2; the GRU is torch's, with the reset gate after the product.

    >>> x, h, k, u = torch.zeros(1, 1, 3), torch.ones(1, 1), torch.zeros(1, 2, 1), torch.tensor([[[9.0], [9.0]]])
    >>> u = u * torch.tensor([0.0, 1.0, 0.0])                    # what is read opens the update gate: h stays
    >>> ones = torch.ones(1, 2, dtype=torch.bool)
    >>> attending_gru(x, h, k, u, ones, torch.zeros(4, 1), torch.zeros(4), torch.ones(1))
    (tensor([[[0.9999]]]), tensor([[[0.5000, 0.5000]]]))
    """
    check_impl("attending_gru", IMPLEMENTATIONS, impl)
    _check(inputs, hidden, key, value, allowed, joint_weight, joint_bias, weight)
    steps = _steps(impl or _method(inputs, key))
    wide = statistics_dtype(inputs.dtype)
    some = allowed.any(1)
    # For a fully masked row, allow everything with zero values, which avoids NaN; its weights become zero at the end.
    bias = torch.zeros_like(allowed, dtype=wide).masked_fill(~allowed & some.unsqueeze(1), -torch.inf)
    value = value.masked_fill(~some[:, None, None], 0.0)
    given = (inputs, hidden, key, value, bias, joint_weight, joint_bias, weight)
    apply: Callable[..., tuple[Tensor, Tensor]] = _Loop.apply
    with full_precision(inputs):
        states, weights = apply(*(tensor.to(wide) for tensor in given), steps)
    return states, weights.masked_fill(~some.unsqueeze(1), 0.0)


class _Loop(torch.autograd.Function):
    """Steps between products; what a step is made by comes as `LoopSteps`."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        hidden: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor,
        joint_weight: Tensor,
        joint_bias: Tensor,
        weight: Tensor,
        steps: LoopSteps,
    ) -> tuple[Tensor, Tensor]:
        length, batch, gates = inputs.shape
        read = LoopInputs(key.contiguous(), value.contiguous(), bias, weight.contiguous())
        inputs = inputs.contiguous()
        states = torch.cat((hidden.unsqueeze(0), inputs.new_empty(length, batch, gates // 3)))
        weights = inputs.new_empty(length, batch, key.shape[1])
        joint, opened = inputs.new_empty(length, batch, len(joint_weight)), torch.empty_like(inputs)
        for t in range(length):
            torch.addmm(joint_bias, states[t], joint_weight.mT, out=joint[t])
            steps.forward(read, inputs[t], joint[t], states[t], states[t + 1], weights[t], opened[t])
        ctx.save_for_backward(states, weights, joint, opened, joint_weight, *read)
        ctx.steps = steps
        return states[1:], weights

    @staticmethod
    def backward(ctx: Any, grad_states: Tensor, grad_weights: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("attending_gru has no second derivative; its backward pass is written by hand")
        states, weights, joint, opened, joint_weight, *rest = ctx.saved_tensors
        read = LoopInputs(*rest)
        grad_inputs, grad_joint = torch.empty_like(opened), torch.empty_like(joint)
        grad_key = torch.zeros_like(read.key)
        grad_weight = read.key.new_zeros(len(read.key), len(read.weight))  # per sequence: no contention
        grad_states, grad_weights = grad_states.contiguous(), grad_weights.contiguous()
        grad = grad_states[-1].clone()
        kept = torch.empty_like(grad)
        for t in reversed(range(len(weights))):
            before = grad_states[t - 1] if t else None
            ctx.steps.backward(
                read, grad, before, joint[t], states[t], weights[t], opened[t], grad_weights[t],
                grad_inputs[t], grad_joint[t], kept, grad_key, grad_weight,
            )  # fmt: skip
            grad = torch.addmm(kept, grad_joint[t], joint_weight)
        grad_value = torch.bmm(weights.permute(1, 2, 0), grad_inputs.transpose(0, 1))  # [B, S, T] @ [B, T, 3D]
        every = grad_joint.flatten(0, 1)
        # One product over all steps [P, T * B] @ [T * B, D] instead of one accumulation per step.
        grad_matrix = every.mT @ states[:-1].flatten(0, 1)
        return (grad_inputs, grad, grad_key, grad_value, None, grad_matrix, every.sum(0), grad_weight.sum(0), None)


def _steps(method: str) -> LoopSteps:
    if method == "reference":
        return reference.PLAIN
    from regard.ops.attending_gru.kernels import KERNELS

    return KERNELS


def _method(inputs: Tensor, key: Tensor) -> str:
    return "triton" if 0 < key.shape[1] <= _LONGEST and kernels_supported(inputs) else "reference"


def _check(
    inputs: Tensor,
    hidden: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor,
    joint_weight: Tensor,
    joint_bias: Tensor,
    weight: Tensor,
) -> None:
    length, batch, gates = inputs.shape
    size, width = key.shape[1], weight.shape[0]
    wanted = {
        "hidden": (hidden, (batch, gates // 3)),
        "key": (key, (batch, size, width)),
        "value": (value, (batch, size, gates)),
        "allowed": (allowed, (batch, size)),
        "joint_weight": (joint_weight, (width + gates, gates // 3)),
        "joint_bias": (joint_bias, (width + gates,)),
    }
    for name, (tensor, shape) in wanted.items():
        if tuple(tensor.shape) != shape:
            raise ValueError(f"attending_gru: {name} must be {list(shape)}; got {list(tensor.shape)}")
    if length == 0 or gates % 3:
        raise ValueError(f"attending_gru: inputs must be [T, B, 3D] with at least one step; got {list(inputs.shape)}")
