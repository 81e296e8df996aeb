"""Captured attention grouped into panels: one per kind of attention, with all layers and heads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from regard.explain.capture import Captured
from regard.explain.panel import HeadsPanel

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.|$)")


def panels_by_kind(
    seen: Captured, rows: Sequence[str] = (), columns: Sequence[str] | None = None, *, batch: int = 0
) -> list[HeadsPanel]:
    """Return a panel per kind of attention; modules whose names differ only in numbers are its layers.

    Args:
        seen: the capture of a model that has run.
        rows: target tokens, or those of the only text.
        columns: source tokens; None for the same text.
        batch: index of the sequence in the batch.
    """
    found: dict[tuple[str, tuple[int, ...]], dict[str, Tensor]] = {}
    vectors: dict[str, tuple[Tensor, Tensor]] = {}
    for name in seen:
        if not seen[name]:
            continue
        weights = seen.weights(name)[batch].detach().float().cpu()
        weights = weights if weights.dim() == 3 else weights.unsqueeze(0)  # [H, T, S]
        found.setdefault((_NUMBER.sub("*", name), tuple(weights.shape)), {})[name] = weights
        if (both := seen.vectors(name)) is not None:
            vectors[name] = both[0][batch].float().cpu(), both[1][batch].float().cpu()
    return [_panel(pattern, layers, vectors, rows, columns) for (pattern, _), layers in found.items()]


def _panel(
    pattern: str,
    layers: dict[str, Tensor],
    vectors: dict[str, tuple[Tensor, Tensor]],
    rows: Sequence[str],
    columns: Sequence[str] | None,
) -> HeadsPanel:
    weights = torch.stack(list(layers.values()))  # [L, H, T, S]
    pairs = [vectors[name] for name in layers if name in vectors]
    queries, keys = map(torch.stack, zip(*pairs, strict=True)) if len(pairs) == len(layers) else (None, None)
    kind = kind_of(pattern, weights)
    down, along = _names(pattern, kind, weights, rows, columns)
    told = {"self": "self-attention", "causal": "causal self-attention", "cross": "cross-attention"}[kind]
    return HeadsPanel(
        f"{pattern.replace('.*', '').replace('*.', '') or 'attention'}: {told}",
        weights.mean((0, 1)),
        "query",
        "key",
        down,
        along,
        weights=weights,
        layers=tuple(_layer(name, number) for number, name in enumerate(layers, start=1)),
        kind=kind,
        queries=queries,
        keys=keys,
    )


def kind_of(name: str, weights: Tensor) -> Literal["self", "causal", "cross"]:
    """Return the kind of attention of a module, inferred from its name and its weights [..., T, S]."""
    height, width = weights.shape[-2:]
    if height != width or "cross" in name.lower() or "encdec" in name.lower() or "multihead_attn" in name:
        return "cross"
    return "self" if height < 2 or bool(weights.triu(1).any()) else "causal"


def _layer(name: str, number: int) -> str:
    """Return the label of a layer, numbered from 1, by the first number in its name."""
    found = _NUMBER.search(name)
    return str(int(found[0]) + 1) if found else str(number)


def _names(
    pattern: str, kind: str, weights: Tensor, rows: Sequence[str], columns: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of queries and keys from the texts of matching length; empty if none matches."""
    height, width = weights.shape[-2:]
    read = rows if columns is None else columns
    if kind == "cross":
        return _fitting(height, rows, read), _fitting(width, read, rows)
    first, second = (read, rows) if "encoder" in pattern.lower() and "decoder" not in pattern.lower() else (rows, read)
    names = _fitting(height, first, second)
    return names, names


def _fitting(count: int, *texts: Sequence[str]) -> tuple[str, ...]:
    return next((tuple(text) for text in texts if len(text) == count), ())
