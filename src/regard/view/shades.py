"""Panels in a terminal: shades, marked text, and tables of parameters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from torch import Tensor

from regard.explain.lazy_rows import to_float32
from regard.explain.panel import GlimpsePanel, Panel, ParametersPanel, StreamedPanel, TextPanel
from regard.view.terminal import heat_map, marked_text
from regard.view.text import visible

_MOST = 400
"""Rows and columns that a terminal shows."""


def shades(panels: Sequence[Panel]) -> RenderableType:
    """Return panels one below the other, each with its title.

    >>> import torch
    >>> from rich.console import Console
    >>> Console(width=40).print(shades([Panel("w", torch.tensor([[1.0, 0.0]]), rows=("a",), columns=("x", "y"))]))
    w
    <BLANKLINE>
      x y
    a █
    """
    parts: list[RenderableType] = []
    for panel in panels:
        parts += [""] * bool(parts)
        parts += [Text(visible(panel.title), style="bold"), "", _shown(panel)]
    return Group(*parts)


def _shown(panel: Panel) -> RenderableType:
    if isinstance(panel, TextPanel):
        return marked_text(panel.values, panel.words, panel.line_weights)
    if isinstance(panel, ParametersPanel):
        return _parameters(panel)
    if isinstance(panel, GlimpsePanel):
        places = (f"{number} at ({x:+.2f}, {y:+.2f})" for number, (x, y) in enumerate(panel.values.tolist(), 1))
        return Text("\n".join(f"glimpse {place}" for place in places))
    rows, columns = panel.source.shape if isinstance(panel, StreamedPanel) else panel.values.shape
    if max(rows, columns) > _MOST:
        return Text(f"{rows:,} rows and {columns:,} columns are too many for a terminal; write it: --output view.html")
    values = panel.values if not isinstance(panel, StreamedPanel) else _read(panel)
    down, along = (list(names) or _numbers(count) for names, count in ((panel.rows, rows), (panel.columns, columns)))
    if values.numel() and (values.min() < 0 or values.max() > 1):
        largest = float(values.abs().max())
        parts = (heat_map(values.abs() / largest, along, down), Text(f"█ = {largest:.3g}, of either sign", style="dim"))
        return Group(*parts)
    return heat_map(values, along, down)


def _read(panel: StreamedPanel) -> Tensor:
    return torch.from_numpy(to_float32(panel.source.read(0, panel.source.shape[0])))


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


def _parameters(panel: ParametersPanel) -> Table:
    """Return a row per part; frozen ones are dim."""
    table = Table("part", "shape")
    table.add_column("parameters", justify="right")
    table.add_column("trained")
    for name, shape, size, share in zip(
        panel.rows, panel.shapes, panel.values.flatten().tolist(), panel.trainable, strict=True
    ):
        trained = "yes" if share == 1 else "no" if share == 0 else f"{share:.0%}"
        style = "dim" if share == 0 else "green" if share == 1 else "yellow"
        table.add_row(escape(name), escape(shape), f"{int(size):,}", trained, style=style)
    return table
