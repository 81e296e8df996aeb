"""Serialisation of panels for the browser viewer: a JSON description, and the bytes of its maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from regard.explain.lazy_rows import LazyRows, as_lazy_rows, to_float32
from regard.explain.panel import (
    CurvesPanel,
    FramesPanel,
    GlimpsePanel,
    GraphPanel,
    HeadsPanel,
    Panel,
    ParametersPanel,
    RegionsPanel,
    StreamedPanel,
    TextPanel,
)
from regard.view.blobs import Blobs
from regard.view.precision import affordable, budget
from regard.view.style import Style
from regard.view.text import visible
from regard.view.tiles import EXACT_CELLS, LARGEST, Tiling, tiled

_LARGEST_OF_ALL = 1 << 17
"""Weights of all heads together that are kept in float32 of a panel with many of them."""
_EXACT_BYTES = 7.5
"""Bytes of a page that one of these takes, with its column."""
_HEADS = 0.8
"""Share of a page that is for single heads; the rest is for the means of layers."""


def payload(panel: Panel, blobs: Blobs, *, first: Style | None = None) -> dict[str, Any]:
    """Return the viewer's description of a panel.

    Args:
        panel: the panel.
        blobs: receives the binary data.
        first: initial style; None for the panel's default.
    """
    styles = styles_of(panel)
    described: dict[str, Any] = {
        "title": visible(panel.title),
        "down": visible(panel.down),
        "along": visible(panel.along),
        "rows": [visible(name) for name in panel.rows],
        "columns": [visible(name) for name in panel.columns],
        "outlined": [list(cell) for cell in panel.outlined],
        "centres": [float(centre) for centre in panel.centres],
        "styles": styles,
        "first": first if first in styles else styles[0],
    }
    add: Callable[[Any, Blobs], dict[str, Any]] = _ADDED.get(type(panel), _plain)
    return described | add(panel, blobs)


def styles_of(panel: Panel) -> list[Style]:
    """Return the styles that a panel supports, the default first.

    >>> import torch
    >>> styles_of(Panel("weights", torch.eye(2), rows=("a", "b"), columns=("x", "y")))
    ['heatmap', 'lines', 'text']
    """
    if isinstance(panel, TextPanel):
        return ["text"]
    if isinstance(panel, ParametersPanel):
        return ["tree"]
    if isinstance(panel, GlimpsePanel):
        return ["picture"]
    if isinstance(panel, (RegionsPanel, FramesPanel)):
        return ["picture", "heatmap"]
    if isinstance(panel, GraphPanel):
        return ["picture", "heatmap", "lines"]
    if isinstance(panel, CurvesPanel):
        return ["curves", "heatmap"]
    if isinstance(panel, HeadsPanel):
        many: list[Style] = ["heatmap", "lines", "birdseye", "text"]
        return [*many, "neurons"] if panel.queries is not None and panel.keys is not None else many
    both = bool(panel.rows) and bool(panel.columns)
    words: list[Style] = ["lines", "text"] if both else ["text"] if panel.columns else []
    return ["heatmap", *words]


def _plain(panel: Panel, blobs: Blobs) -> dict[str, Any]:
    return {"kind": "map", "maps": [_map(panel.values, blobs)]}


def _streamed(panel: StreamedPanel, blobs: Blobs) -> dict[str, Any]:
    return {"kind": "map", "maps": _tiled([panel.source], Tiling(panel.full, panel.signed), blobs)}


def _heads(panel: HeadsPanel, blobs: Blobs) -> dict[str, Any]:
    layers, heads = panel.weights.shape[:2]
    names = [visible(name) for name in panel.layers] or [str(number) for number in range(1, layers + 1)]
    every = [panel.weights[layer, head] for layer in range(layers) for head in range(heads)]
    described: dict[str, Any] = {
        "kind": "heads",
        "layers": names,
        "heads": [visible(name) for name in panel.heads] or [str(number) for number in range(1, heads + 1)],
        "reading": panel.kind,
        "maps": _maps(every, blobs, share=_HEADS if heads > 1 else 1.0),
        "means": _maps(list(panel.weights.mean(1)), blobs, share=1 - _HEADS) if heads > 1 else [],
    }
    if panel.queries is not None and panel.keys is not None:
        for name, vectors in (("queries", panel.queries), ("keys", panel.keys)):
            described[name] = _maps([vectors[layer, head] for layer in range(layers) for head in range(heads)], blobs)
    return described


def _marked(panel: TextPanel, blobs: Blobs) -> dict[str, Any]:
    values = to_float32(panel.values).tolist()
    lines = [
        {"weight": weight, "words": [visible(word) for word in words], "values": _rounded(row[: len(words)])}
        for weight, words, row in zip(_rounded(panel.line_weights), panel.words, values, strict=True)
    ]
    return {"kind": "text", "lines": lines, "maps": []}


def _regions(panel: RegionsPanel, blobs: Blobs) -> dict[str, Any]:
    return _plain(panel, blobs) | {
        "kind": "regions",
        "picture": _picture(panel.picture, blobs),
        "grids": [list(grid) for grid in panel.grids],
    }


def _glimpses(panel: GlimpsePanel, blobs: Blobs) -> dict[str, Any]:
    return {
        "kind": "glimpses",
        "maps": [],
        "picture": _picture(panel.picture, blobs),
        "locations": [_rounded(place) for place in to_float32(panel.values).tolist()],
        "retina": [panel.size, panel.scales, panel.factor],
    }


def _frames(panel: FramesPanel, blobs: Blobs) -> dict[str, Any]:
    heard = to_float32(panel.spectrogram)
    low, high = np.percentile(heard, (5, 99.5)) if heard.size else (0.0, 1.0)
    shades = ((heard - low) / max(high - low, 1e-6)).clip(0.0, 1.0)  # bounds exclude silence, an extreme outlier
    bands = np.rint(255.0 * shades).astype(np.uint8)
    return _plain(panel, blobs) | {
        "kind": "frames",
        "spectrogram": [*bands.shape, blobs.add(bands)],
        "hop": panel.hop,
    }


def _network(panel: GraphPanel, blobs: Blobs) -> dict[str, Any]:
    return _plain(panel, blobs) | {
        "kind": "network",
        "places": [_rounded(place) for place in to_float32(panel.places).tolist()],
        "groups": [visible(group) for group in panel.groups],
    }


def _curves(panel: CurvesPanel, blobs: Blobs) -> dict[str, Any]:
    return _plain(panel, blobs) | {"kind": "curves"}


def _parameters(panel: ParametersPanel, blobs: Blobs) -> dict[str, Any]:
    sizes = [int(size) for size in panel.values.flatten().tolist()]
    return {
        "kind": "tree",
        "sizes": sizes,
        "trainable": _rounded(panel.trainable),
        "shapes": [visible(shape) for shape in panel.shapes],
        "maps": [],
    }


_ADDED: dict[type[Panel], Callable[[Any, Blobs], dict[str, Any]]] = {
    StreamedPanel: _streamed,
    HeadsPanel: _heads,
    TextPanel: _marked,
    RegionsPanel: _regions,
    GlimpsePanel: _glimpses,
    FramesPanel: _frames,
    GraphPanel: _network,
    CurvesPanel: _curves,
    ParametersPanel: _parameters,
}


def _map(values: Tensor, blobs: Blobs) -> dict[str, Any]:
    return _maps([values], blobs)[0]


def _maps(maps: Sequence[Tensor], blobs: Blobs, *, share: float = 1.0) -> list[dict[str, Any]]:
    """Return several maps with a common scale, within `share` of their page size budget."""
    signed = any(one.numel() and float(one.min()) < 0 for one in maps)
    full = max((float(one.abs().max()) for one in maps if one.numel()), default=0.0) or 1.0
    return _tiled(
        [as_lazy_rows(one) for one in maps], Tiling(full, signed, thumbnail=len(maps) > 1), blobs, share=share
    )


def _tiled(maps: Sequence[LazyRows], how: Tiling, blobs: Blobs, *, share: float = 1.0) -> list[dict[str, Any]]:
    """Return maps of one shape and scale, exact where they are small together."""
    height, width = maps[0].shape if maps else (0, 0)
    rows = len(maps) * height
    if rows * width > EXACT_CELLS:
        count = LARGEST if len(maps) == 1 else min(LARGEST, _LARGEST_OF_ALL // rows)
        how = replace(how, exact=False, largest=count)
        how = affordable(maps, how, share * budget(rows * width) - _EXACT_BYTES * rows * count)
    return [tiled(one, how, blobs) for one in maps]


def _picture(picture: Tensor, blobs: Blobs) -> list[Any]:
    """Return height, width and pixels [H, W, 3] of a picture."""
    values = to_float32(picture)
    values = values[None] if values.ndim == 2 else values
    if picture.is_floating_point():
        values = 255.0 * values
    pixels = np.rint(np.broadcast_to(values, (3, *values.shape[1:]))).clip(0, 255).astype(np.uint8)
    return [*values.shape[1:], blobs.add(pixels.transpose(1, 2, 0))]


def _rounded(values: Sequence[float]) -> list[float]:
    """Round numbers to float32 precision, for short JSON."""
    return [float(f"{value:.7g}") for value in values]
