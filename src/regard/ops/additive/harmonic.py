"""Additive attention on tensor cores with a bounded error: tanh approximated by a line and a few sines.

README.md has the derivation. Forward, the energies are dot products of float16 features, and a shift for each row.
Backward, the fused kernels make exact energies again, and take the log-sum-exp of the forward pass. Memory beside
inputs and outputs: 4N bytes for each entry of query and key, or none where one kernel makes features and reads by them.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.additive import blocked, fused, harmonic_reference
from regard.ops.additive.harmonic_fit import LIMIT, TOLERANCE, HarmonicFit, choose, widest
from regard.ops.additive.launch import HarmonicTile, Launch
from regard.ops.additive.launch import choose as choose_launch
from regard.ops.additive.tiles import Operands, rebuilt
from regard.ops.attended import Attended
from regard.ops.inner_product.sdpa import capability
from regard.ops.kernels import apply_first_order, cast_gradients, check_kernels, kernels_supported, no_double_backward

_WHAT = "additive: the harmonic implementation"
_HALF = (torch.float16, torch.bfloat16)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    tolerance: float | None = None,
    span: float | None = None,
    tile: HarmonicTile | None = None,
) -> Attended:
    """The function of `reference.attention`, with energies within Σ|v| (fit.error + 2^-10 Σ|c|) of the exact ones.

    Without `span` the largest |q + k| is measured, which the CPU waits for; where no fit covers it, the exact kernels
    read instead, with a warning. With `span` nothing waits, and the promise is checked on the device: queries that
    break it, and others of their head, have a context of NaN. `tile` overrides the rule. Where one kernel reads
    (`fits_one_kernel`), roundings add up to Σ|v| Σ_n |c_n| (3n² + 2n + 2) 2^-12 instead.
    """
    for tensor in (query, key, value):
        interpreted = check_kernels(_WHAT, tensor.device, tensor.dtype, _HALF, 'use impl="fused" or "blocked"')
    tolerance = TOLERANCE[query.dtype] if tolerance is None else tolerance
    even = tile is None and fits_one_kernel(query, key, value, mask)
    fit = _measured(query, key, tolerance, even=even) if span is None else _promised(span, tolerance, even=even)
    if fit is None:
        return fused.attention(query, key, value, weight, mask, features=None, feature_weight=None)
    launch = choose_launch(query.shape[3], key.shape[2], query.dtype, features=False, interpreted=interpreted)
    promised = span is not None
    context = apply_first_order(_WHAT, _Attention, query, key, value, weight, mask, launch, fit, tile, promised)
    operands = Operands(query, key, weight, None, None)
    return Attended(context, rebuilt(blocked.score, operands, mask), operands.shape, impl="harmonic")


def _best(span: float, tolerance: float, *, even: bool) -> HarmonicFit | None:
    """Return an even fit if it is allowed and exists, otherwise any fit."""
    return (choose(span, tolerance, even=True) if even else None) or choose(span, tolerance)


def _measured(query: Tensor, key: Tensor, tolerance: float, *, even: bool) -> HarmonicFit | None:
    """Return the fit for the measured span of queries and keys; None, with a warning, if there is none."""
    reach, size = harmonic_reference.span(query.detach(), key.detach())
    fit = _best(reach, tolerance, even=even) if size <= LIMIT else None
    if fit is None:
        warnings.warn(
            f"additive: no harmonic fit has an error of {tolerance:.1e} where |q + k| reaches {reach:.1f} (up to "
            f"{widest(tolerance)}) and |q| or |k| {size:.1f} (up to {LIMIT:.0f}): the exact kernels read instead",
            stacklevel=4,
        )
    return fit


def _promised(span: float, tolerance: float, *, even: bool) -> HarmonicFit:
    fit = _best(span, tolerance, even=even)
    if fit is None:
        raise ValueError(
            f"additive: no harmonic fit has an error of {tolerance:.1e} up to a span of {span}, only up to "
            f'{widest(tolerance)}; give a larger tolerance, or use impl="fused"'
        )
    return fit


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        weight: Tensor,
        mask: Mask | None,
        launch: Launch,
        fit: HarmonicFit,
        tile: HarmonicTile | None,
        promised: bool,
    ) -> Tensor:
        operands = Operands(query, key, weight, None, None)
        # The backward pass needs the context before it is rounded; where there is none, it is rounded in the kernel.
        save = any(ctx.needs_input_grad)
        if fit.even:
            from regard.ops.additive.one_kernel_call import OneKernelCall

            context, lse = OneKernelCall(operands, value, mask, launch, fit, promised=promised, save=save).read()
        else:
            from regard.ops.additive.harmonic_call import HarmonicCall

            context, lse = HarmonicCall(operands, value, mask, launch, fit, tile, save=save).read()
        ctx.save_for_backward(query, key, value, weight, context, lse)
        ctx.mask, ctx.launch = mask, launch
        return context.to(value.dtype)

    @staticmethod
    def backward(ctx: Any, grad_context: Tensor) -> tuple[Tensor | None, ...]:
        from regard.ops.additive.kernel_call import KernelCall

        no_double_backward(_WHAT)
        query, key, value, weight, context, lse = ctx.saved_tensors
        operands = Operands(query, key, weight, None, None)
        delta, level = (grad_context.float() * context).sum(-1), lse.masked_fill(lse == -torch.inf, 0.0)
        call = KernelCall(operands, value, ctx.mask, ctx.launch)
        grads, grad_value = call.gradients(grad_context, level, torch.ones_like(level), delta)
        grad_query, grad_key, grad_weight = cast_gradients((grads.query, grads.key, grads.weight), (query, key, weight))
        return grad_query, grad_key, grad_value.to(value.dtype), grad_weight, None, None, None, None, None


# Features that lie in memory are written once and read by many: with 2,048 keys that is nothing, with 512 it is 40% of
# the time. Made anew for every tile of 128 queries and 256 keys they cost little beside the products that wait for
# them, and only where a program has one tile are there registers for both.
_KEYS = 512
_UNITS = 16
_VALUES = 128
_TRITON = (3, 6)
"""Whose Gluon the kernel is written in: it is experimental, and changes from one version to the next."""


def fits_one_kernel(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> bool:
    """Return whether the kernel can read this: bfloat16, up to 512 keys, 16 n units, no dense mask, on Hopper."""
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    if not all(tensor.dtype == torch.bfloat16 for tensor in (query, key, value)) or not kernels_supported(
        query, key, value
    ):
        return False
    sizes = 0 < keys <= _KEYS and queries > 0 and batch * heads > 0 and width > 0 and width % _UNITS == 0
    if not sizes or not 0 < value.shape[3] <= _VALUES or not (_is_even(query) and _is_even(key)):
        return False
    spans = None if mask is None else mask.spans((batch, heads, queries, keys))
    return (spans is None or spans.rest is None) and capability(query.device)[0] == 9 and _has_gluon()


def _is_even(rows: Tensor) -> bool:
    """Return whether units lie next to each other, and rows begin at multiples of 16 bytes."""
    *strides, last = rows.stride()
    return last == 1 and rows.data_ptr() % 16 == 0 and all(stride % 8 == 0 for stride in strides)


@functools.cache
def _has_gluon() -> bool:
    import triton

    return tuple(map(int, triton.__version__.split(".")[:2])) == _TRITON and not triton.knobs.runtime.interpret
