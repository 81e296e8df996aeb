"""Benchmark cases of masked attention: ours, plain PyTorch, its fused attention and FlexAttention."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard import ops
from regard.bench import plain
from regard.bench.case import Case, Machine, Way
from regard.masks import Mask

MaskKind = Literal["none", "causal", "padding", "window"]


@dataclass(frozen=True)
class MaskCase:
    """Mask of one kind for T queries and S keys.

    Attributes:
        kind: kind of mask.
        queries: T.
        keys: S.
        lengths: [B], for padding.
        width: W, for a window.
    """

    kind: MaskKind
    queries: int
    keys: int
    lengths: Tensor
    width: int

    def ours(self) -> Mask | None:
        """Return the mask as a `Mask`."""
        match self.kind:
            case "none":
                return None
            case "causal":
                return Mask.causal()
            case "padding":
                return Mask.padding(self.lengths)
            case "window":
                return Mask.window(self.width)

    def allowed(self) -> Tensor | None:
        """Return the mask as booleans, broadcastable to [B, H, T, S]; rebuilt per call, as usual without `Mask`."""
        if self.kind == "none":
            return None
        key = torch.arange(self.keys, device=self.lengths.device)
        if self.kind == "padding":
            return (key < self.lengths.unsqueeze(1))[:, None, None, :]
        place = torch.arange(self.keys - self.queries, self.keys, device=key.device).unsqueeze(1)
        return key <= place if self.kind == "causal" else (key <= place) & (key > place - self.width)

    def pairs(self) -> Callable[[Any, Any, Any, Any], Any] | None:
        """Return the mask function of (batch, head, query, key) for FlexAttention."""
        shift, width, lengths = self.keys - self.queries, self.width, self.lengths
        match self.kind:
            case "none":
                return None
            case "causal":
                return lambda batch, head, query, key: key <= query + shift
            case "padding":
                return lambda batch, head, query, key: key < lengths[batch]
            case "window":
                return lambda batch, head, query, key: (key <= query + shift) & (key > query + shift - width)


_OURS: dict[str, Callable[..., ops.Attended]] = {
    "scaled_dot": ops.scaled_dot_attention,
    "bilinear": ops.bilinear_attention,
    "cosine": ops.cosine_attention,
    "additive": ops.additive_attention,
}
_ENERGY: dict[str, Callable[..., Tensor]] = {
    "scaled_dot": plain.scaled_dot,
    "bilinear": plain.bilinear,
    "cosine": plain.cosine,
    "additive": plain.additive,
}
# Query and key whose inner product is the energy, for the fused implementations.
_VECTORS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "scaled_dot": lambda query, key: (query / query.shape[-1] ** 0.5, key),
    "bilinear": lambda query, key, weight: (query @ weight, key),
    "cosine": lambda query, key: (F.normalize(query, dim=-1), F.normalize(key, dim=-1)),
}
_BACKENDS = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}


class Sizes(NamedTuple):
    """Batch, heads, queries, keys and width of query, key and value."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int


@dataclass(frozen=True)
class ScoreCase(Case):
    """Softmax attention with one score, at one size under one kind of mask.

    Attributes:
        sizes: B, H, T, S, D.
        kind: kind of mask.
        window: width of a window mask.
        empty: the mask excludes all keys of one sequence.
    """

    sizes: Sizes
    kind: MaskKind = "none"
    window: int = 64
    empty: bool = False

    @property
    def mask(self) -> str:
        return f"window {self.window}" if self.kind == "window" else self.kind

    @property
    def size(self) -> str:
        batch, heads, queries, keys, width = self.sizes
        return f"{batch}×{heads}×{queries}×{keys}×{width}"

    def shapes(self) -> list[tuple[int, ...]]:
        batch, heads, queries, keys, width = self.sizes
        weights: dict[str, tuple[int, ...]] = {"bilinear": (heads, width, width), "additive": (heads, width)}
        weight = [weights[self.mechanism]] if self.mechanism in weights else []
        return [*((batch, heads, length, width) for length in (queries, keys, keys)), *weight]

    def masking(self, device: torch.device) -> MaskCase:
        """Return the mask; padding keeps between half and all of the keys."""
        batch, _, queries, keys, _ = self.sizes
        lengths = torch.linspace(keys, max(1, keys // 2), batch).long()
        if self.empty:
            lengths[-1] = 0
        return MaskCase(self.kind, queries, keys, lengths.to(device), self.window)

    def ways(self, machine: Machine) -> dict[str, Way]:
        masking = self.masking(machine.device)
        mask, energy = masking.ours(), _ENERGY[self.mechanism]

        def ours(query: Tensor, key: Tensor, value: Tensor, *weight: Tensor) -> Tensor:
            return _OURS[self.mechanism](query, key, value, *weight, mask=mask).context

        def simple(query: Tensor, key: Tensor, value: Tensor, *weight: Tensor) -> Tensor:
            return plain.read(energy(query, key, *weight), value, masking.allowed())

        found: dict[str, Way] = {"ours": ours, "plain": simple}
        if machine.compiles:
            found["compile"] = torch.compile(simple, dynamic=False)
        if self.mechanism in _VECTORS:
            found["sdpa"] = self._sdpa(masking)
            if machine.cuda:
                found |= {name: _under(backend, found["sdpa"]) for name, backend in _BACKENDS.items()}
                found["flex"] = self._flex(masking)
        return found

    def _sdpa(self, masking: MaskCase) -> Way:
        causal = self.kind == "causal" and self.sizes.queries == self.sizes.keys

        def read(query: Tensor, key: Tensor, value: Tensor, *weight: Tensor) -> Tensor:
            query, key = _VECTORS[self.mechanism](query, key, *weight)
            allowed = None if causal else masking.allowed()
            return F.scaled_dot_product_attention(query, key, value, allowed, is_causal=causal, scale=1.0)

        return read

    def _flex(self, masking: MaskCase) -> Way:
        """Return FlexAttention with a block mask that is built once for all calls, as recommended."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        batch, _, queries, keys, _ = self.sizes
        compiled: Callable[..., Any] = torch.compile(flex_attention, dynamic=False)

        @functools.cache
        def blocks() -> Any:
            pairs = masking.pairs()
            device = str(masking.lengths.device)
            return pairs and create_block_mask(pairs, batch, None, queries, keys, device=device)

        def read(query: Tensor, key: Tensor, value: Tensor, *weight: Tensor) -> Tensor:
            query, key = _VECTORS[self.mechanism](query, key, *weight)
            context: Tensor = compiled(query, key, value, block_mask=blocks(), scale=1.0)
            return context

        return read


def _under(backend: SDPBackend, read: Way) -> Way:
    """Restrict SDPA to one backend; raises an error if it does not support the inputs."""

    def only(*inputs: Tensor) -> Tensor:
        with sdpa_kernel(backend):
            return read(*inputs)

    return only
