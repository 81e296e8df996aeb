"""Capture of attention weights from any model, without changes to its computation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from fnmatch import fnmatchcase
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.explain.foreign_models import watch_attention
from regard.explain.vectors import Vectors, watched_vectors
from regard.nn.attention_module import CapturableModule
from regard.ops.weights import Index, Weights


class Captured(Mapping[str, list[Weights]]):
    """Captured attention: the weights of each call, by module name.

    `seen["decoder.cross"][0].entropy()` belongs to the first call; `seen.weights("decoder.cross")` joins all calls,
    such as the steps of incremental decoding.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._calls: dict[str, list[Weights]] = {name: [] for name in names}
        self._vectors: dict[str, list[Vectors]] = {}

    def __getitem__(self, name: str) -> list[Weights]:
        if name not in self._calls:
            raise KeyError(f"{name!r} was not captured; captured: {', '.join(self._calls)}")
        return self._calls[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, name: str, calls: Sequence[Weights]) -> None:
        """Add the calls of a module that was discovered while the model ran."""
        self._calls.setdefault(name, []).extend(calls)

    def add_vectors(self, name: str, query: Tensor, key: Tensor) -> None:
        """Add queries [B, H, T, D] and keys [B, H, S, D] of a call."""
        self._vectors.setdefault(name, []).append((query, key))

    def vectors(self, name: str) -> Vectors | None:
        """Queries [B, H, T, D] and keys [B, H, S, D] of a module; None if not captured, or after several calls."""
        found = self._vectors.get(name, ())
        return found[0] if len(found) == 1 else None

    def weights(self, name: str) -> Tensor:
        """Join the weights of all calls to [B, (H,) T, S]; S is the final size of a growing memory.

        Supports a single call, or a prompt followed by decoding steps. Other calls are independent of each other;
        access them by `seen[name]`.
        """
        calls = [call.weights() for call in self[name]]
        if not calls:
            raise ValueError(f"{name!r} has not been called while it was captured")
        if any(call.shape[-2] != 1 or call.shape[0] != calls[0].shape[0] for call in calls[1:]):
            raise ValueError(
                f"{name!r} was called {len(calls)} times, not step by step; take seen[{name!r}][i] one by one"
            )
        keys = max(call.shape[-1] for call in calls)
        return torch.cat([F.pad(call, (0, keys - call.shape[-1])) for call in calls], dim=-2)

    def __repr__(self) -> str:
        return f"Seen({', '.join(f'{name}: {len(calls)} calls' for name, calls in self._calls.items())})"


@contextmanager
def capture(
    model: nn.Module,
    names: str | Sequence[str] | None = None,
    *,
    layers: int | Sequence[int] | None = None,
    heads: Index = None,
    rows: Index = None,
    grad: bool = False,
    vectors: bool = False,
) -> Iterator[Captured]:
    """Capture attention weights from inside any model, without changing its results or its kernels.

    The weights are recomputed separately, only for the chosen heads and rows, so that one head of a long sequence needs
    no more memory than its rows.

    Args:
        model: any module that contains attention of `regard.nn`, or that uses PyTorch's attention functions, like
            `torch.nn.MultiheadAttention` and the models of transformers.
        names: modules to capture, by name or pattern (`"decoder.*.cross"`); None for all.
        layers: layer numbers: `decoder.layers.5.cross` is in layer 5. Negative numbers count from the last layer.
        heads: heads to capture: a slice, indices or one index; None for all.
        rows: queries to capture in each call, likewise.
        grad: keep the weights differentiable.
        vectors: also capture queries and keys of inner-product scores, for all heads and rows.

    Yields:
        Captured: filled while the model runs; remains valid afterwards.

    Raises:
        ValueError: no module matches (the message lists those available), or `vectors` with chosen heads or rows.

    >>> from regard.nn import Attention, MultiHead, ScaledDot
    >>> model = nn.Sequential(nn.Linear(6, 6), MultiHead(ScaledDot(6, 6, 3, num_heads=2), value_dim=6, head_dim=3))
    >>> with capture(model, heads=1, rows=slice(0, 2)) as seen:
    ...     _ = model(torch.randn(1, 5, 6))
    >>> seen.weights("1").shape
    torch.Size([1, 1, 2, 5])
    """
    if vectors and (heads is not None or rows is not None):
        raise ValueError("vectors are of all heads and rows; leave heads and rows out, or vectors")
    if not any(isinstance(module, CapturableModule) for module in model.modules()):
        with _foreign(model, names, layers, heads=heads, rows=rows, grad=grad, vectors=vectors) as found:
            yield found
        return
    chosen = _choose(model, names, layers)
    seen = Captured(list(chosen))
    handles = [
        module.watch(partial(_keep, name=name, seen=seen, heads=heads, rows=rows, grad=grad))
        for name, module in chosen.items()
    ]
    try:
        with watched_vectors(chosen, seen.add_vectors) if vectors else nullcontext():
            yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _foreign(
    model: nn.Module,
    names: str | Sequence[str] | None,
    layers: int | Sequence[int] | None,
    *,
    heads: Index,
    rows: Index,
    grad: bool,
    vectors: bool,
) -> Iterator[Captured]:
    """Capture the weights of a model that does not use `regard.nn`."""
    every = Captured(())

    def keep(name: str, weights: Tensor) -> None:
        every.add(name, ())
        _keep(Weights.of(weights), name=name, seen=every, heads=heads, rows=rows, grad=grad)

    seen = Captured(())
    with watch_attention(model, keep, seen.add_vectors if vectors else None, grad=grad):
        yield seen
    if not every:
        raise ValueError(
            f"{type(model).__name__} has not attended: it holds no attention of regard.nn, and has neither called "
            "scaled_dot_product_attention or torch.nn.MultiheadAttention nor returned weights of its own"
        )
    for name in _fitting(every, names, layers):
        seen.add(name, every[name])


def _keep(read: Weights, *, name: str, seen: Captured, heads: Index, rows: Index, grad: bool) -> None:
    with nullcontext() if grad else torch.no_grad():
        try:
            seen[name].append(read.pick(heads=heads, rows=rows))
        except IndexError as problem:
            _, num_heads, queries, _ = read.shape
            raise ValueError(
                f"{name!r} has {num_heads} heads and was called with {queries} queries: {problem}"
            ) from None


def _choose(
    model: nn.Module, names: str | Sequence[str] | None, layers: int | Sequence[int] | None
) -> dict[str, CapturableModule]:
    every = {name: module for name, module in model.named_modules() if isinstance(module, CapturableModule)}
    return {name: every[name] for name in _fitting(every, names, layers)}


def _fitting(
    every: Mapping[str, object], names: str | Sequence[str] | None, layers: int | Sequence[int] | None
) -> list[str]:
    """Return the module names that match the requested names and layers."""
    patterns = None if names is None else [names] if isinstance(names, str) else list(names)
    wanted = None if layers is None else _from_the_end([layers] if isinstance(layers, int) else layers, every)
    chosen = [
        name
        for name in every
        if (patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns))
        and (wanted is None or _layer(name) in wanted)
    ]
    if not chosen:
        asked = ", ".join(
            f"{what}={value!r}" for what, value in (("names", names), ("layers", layers)) if value is not None
        )
        raise ValueError(f"no attention fits {asked}; there are: {', '.join(map(repr, every))}")
    return chosen


def _layer(name: str) -> int | None:
    """Layer number: the first number in a module's name."""
    return next((int(part) for part in name.split(".") if part.isdecimal()), None)


def _from_the_end(layers: Sequence[int], every: Mapping[str, object]) -> set[int]:
    """Resolve negative layer numbers from the last layer."""
    count = 1 + max((_layer(name) or 0 for name in every), default=-1)
    return {layer if layer >= 0 else count + layer for layer in layers}
