"""HTML table of the largest weights per row, for screen readers and pages without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from regard.explain.lazy_rows import LazyRows, as_lazy_rows, to_float32
from regard.explain.panel import GlimpsePanel, Panel, ParametersPanel, StreamedPanel, TextPanel
from regard.view.text import visible
from regard.view.tiles import largest, strips

_ROWS, _LARGEST = 200, 3


def table(panel: Panel) -> str:
    """Return the table of a panel, folded up.

    >>> import torch
    >>> told = table(Panel("w", torch.tensor([[0.25, 0.75]]), rows=("a",), columns=("x", "<y>")))
    >>> print(told.split("<tbody>")[1].split("</tbody>")[0])
    <tr><th scope="row"><bdi>a</bdi></th><td><bdi>&lt;y&gt;</bdi> 0.75, <bdi>x</bdi> 0.25</td></tr>
    """
    head, lines, count = _content(panel)
    shown = list(lines)
    more = f", the first {_ROWS:,} of {count:,} rows" if count > _ROWS else ""
    titles = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    body = "".join(f'<tr><th scope="row">{name}</th>{cells}</tr>' for name, cells in shown)
    return (
        f'<details class="regard-table"><summary>Table<span class="regard-more">{more}</span></summary>'
        f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></details>"
    )


def _content(panel: Panel) -> tuple[Sequence[str], Iterator[tuple[str, str]], int]:
    """Return titles of the columns, rows, and how many rows there would be."""
    if isinstance(panel, TextPanel):
        return ("weight of the line", "words"), _marked(panel), len(panel.words)
    if isinstance(panel, GlimpsePanel):
        return ("glimpse", "x and y, from -1 to 1"), _glimpses(panel), len(panel.values)
    if isinstance(panel, ParametersPanel):
        return ("part", "shape", "parameters", "trained"), _parts(panel), len(panel.rows)
    count = (panel.source.shape if isinstance(panel, StreamedPanel) else panel.values.shape)[0]
    return (panel.down or "row", "largest values"), _rows(panel), count


def _rows(panel: Panel) -> Iterator[tuple[str, str]]:
    source = panel.source if isinstance(panel, StreamedPanel) else as_lazy_rows(panel.values)
    height, width = source.shape
    if not height or not width:
        return
    row = 0
    for part in strips(LazyRows((min(_ROWS, height), width), source.make), 1):
        columns, values = largest(part, min(_LARGEST, width))
        for places, weights in zip(columns.tolist(), values.tolist(), strict=True):
            told = (f"{_name(panel.columns, place)} {value:.4g}" for place, value in zip(places, weights, strict=True))
            yield _name(panel.rows, row), f"<td>{', '.join(told)}</td>"
            row += 1


def _marked(panel: TextPanel) -> Iterator[tuple[str, str]]:
    values = to_float32(panel.values)
    for weight, words, row in list(zip(panel.line_weights, panel.words, values, strict=True))[:_ROWS]:
        told = (_strong(word, value) for word, value in zip(words, np.asarray(row).tolist(), strict=False))
        yield f"{weight:.3g}", f"<td>{' '.join(told)}</td>"


def _strong(word: str, value: float) -> str:
    return f"<bdi>{_text(word)}</bdi>" + (f" ({value:.2g})" if abs(value) >= 0.005 else "")


def _glimpses(panel: GlimpsePanel) -> Iterator[tuple[str, str]]:
    for number, place in enumerate(panel.values.tolist()[:_ROWS], start=1):
        name = _name(panel.rows, number - 1) if panel.rows else str(number)
        yield name, f"<td>{', '.join(f'{one:+.2f}' for one in place)}</td>"


def _parts(panel: ParametersPanel) -> Iterator[tuple[str, str]]:
    sizes = panel.values.flatten().tolist()
    rows = zip(panel.rows, panel.shapes, sizes, panel.trainable, strict=True)
    for name, shape, size, share in list(rows)[:_ROWS]:
        trained = "yes" if share == 1 else "no" if share == 0 else f"{share:.0%}"
        yield _text(name), f"<td>{_text(shape)}</td><td>{int(size):,}</td><td>{trained}</td>"


def _name(names: Sequence[str], number: int) -> str:
    return f"<bdi>{_text(names[number])}</bdi>" if names else str(number + 1)


def _text(text: str) -> str:
    return escape(visible(text))
