"""Capture of attention in models that do not use `regard.nn`, by intercepting PyTorch's attention functions.

Calls of `scaled_dot_product_attention` and `multi_head_attention_forward` are intercepted while a model runs. The call
itself is unchanged, and the weights are computed separately from the same queries, keys and mask. That covers
`torch.nn.MultiheadAttention`, the models of transformers and timm, and any that call these functions. A module that
computes and returns its weights, like transformers with `attn_implementation="eager"`, is captured by its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from regard.explain.vectors import Keep

Found = Callable[[str, Tensor], None]
"""(name of the module, weights [B, H, T, S])."""


@contextmanager
def watch_attention(
    model: nn.Module, found: Found, vectors: Keep | None = None, *, grad: bool = False
) -> Iterator[None]:
    """Call `found` with the weights of each attention call of a model while it runs.

    Args:
        model: any module.
        found: receives the name of the innermost running module and the weights.
        vectors: receives name, queries and keys of calls of `scaled_dot_product_attention`; None to skip them.
        grad: keep the weights differentiable.
    """
    calls = _Calls(found, vectors)
    with ExitStack() as stack:
        for name, module in model.named_modules():
            stack.callback(module.register_forward_pre_hook(partial(calls.enter, name)).remove)
            stack.callback(module.register_forward_hook(calls.leave, always_call=True).remove)
        stack.enter_context(_AttentionWatcher(calls, grad=grad))
        yield


class _Calls:
    """Stack of running modules, innermost last, each with a flag for captured weights."""

    def __init__(self, found: Found, vectors: Keep | None) -> None:
        self._found = found
        self._vectors = vectors
        self._running: list[tuple[str, list[Tensor]]] = []

    def enter(self, name: str, *_: object) -> None:
        """Push a module at the start of its forward pass."""
        self._running.append((name, []))

    def found(self, weights: Tensor) -> None:
        """Record weights of the innermost module."""
        if self._running:
            self._found(self._running[-1][0], weights)
            for _, known in self._running:
                known.append(weights)

    def vectors(self, query: Tensor, key: Tensor) -> None:
        """Record queries and keys of the innermost module."""
        if self._running and self._vectors is not None:
            self._vectors(self._running[-1][0], query, key)

    def leave(self, module: nn.Module, _: object, result: Any) -> None:
        """Pop a module at the end of its forward pass; record the weights it returns if none were captured inside."""
        _, known = self._running[-1]
        if not known and isinstance(result, tuple) and type(module).__name__.endswith("Attention"):
            weights = next((one for one in result[1:] if _is_weights(one)), None)
            if weights is not None:
                self.found(weights)
        self._running.pop()


class _AttentionWatcher(TorchFunctionMode):
    """Intercepts PyTorch's attention functions."""

    def __init__(self, calls: _Calls, *, grad: bool) -> None:
        super().__init__()
        self._calls = calls
        self._grad = grad

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in _WEIGHTS:
            with nullcontext() if self._grad else torch.no_grad():
                self._calls.found(_WEIGHTS[func](*args, **kwargs))
            if func is F.scaled_dot_product_attention:
                self._calls.vectors(*_vectors(*args, **kwargs))
        return result


def _multi_head_weights(*args: Any, **kwargs: Any) -> Tensor:
    """Return the weights [B, H, T, S] of `multi_head_attention_forward`, before dropout."""
    asked = {**kwargs, "need_weights": True, "average_attn_weights": False, "training": False}
    weights = F.multi_head_attention_forward(*args, **asked)[1]
    assert weights is not None
    return weights if weights.dim() == 4 else weights.unsqueeze(0)


def _is_weights(value: object) -> bool:
    """Return True for attention weights [B, H, T, S]: rows sum to one, or to zero if fully masked."""
    if not isinstance(value, Tensor) or value.dim() != 4 or not value.is_floating_point() or not value.numel():
        return False
    total = value.float().sum(-1)
    return bool((value >= 0).all() and (((total - 1).abs() < 0.01) | (total == 0)).all() and total.any())


def scaled_dot_product_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the weights [B, H, T, S] of PyTorch's function of the same name, before dropout.

    Fully masked rows are zero.

    >>> scaled_dot_product_weights(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4), torch.zeros(1), is_causal=True)
    tensor([[[[1.0000, 0.0000],
              [0.5000, 0.5000]]]])
    """
    query, key = _vectors(query, key, enable_gqa=enable_gqa)
    # In float32, like the accumulation of fused kernels, whatever the dtype of the model.
    logits = query.float() @ key.float().transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:  # aligned to the upper left corner, as in PyTorch
        seen = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
        logits = logits.masked_fill(~seen, -torch.inf)
    if attn_mask is not None:
        logits = logits.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else logits + attn_mask
    return logits.softmax(-1).nan_to_num(0.0)


def _vectors(query: Tensor, key: Tensor, *_: object, enable_gqa: bool = False, **__: object) -> tuple[Tensor, Tensor]:
    """Return queries [B, H, T, D] and keys [B, H, S, D] of a call of `scaled_dot_product_attention`."""
    if query.dim() == 3:
        query, key = query.unsqueeze(1), key.unsqueeze(1)  # [B, 1, T, D]
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    return query, key


_WEIGHTS: dict[Any, Callable[..., Tensor]] = {
    F.scaled_dot_product_attention: scaled_dot_product_weights,
    F.multi_head_attention_forward: _multi_head_weights,
}
"""Weights of each intercepted function, computed from its arguments."""
