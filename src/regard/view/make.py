"""Public constructors of views, from tensors, captured attention, and model parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.explain.capture import Captured
from regard.explain.layers import panels_by_kind
from regard.explain.lazy_rows import LazyRows, as_lazy_rows, to_float32
from regard.explain.panel import CurvesPanel, HeadsPanel, Panel, StreamedPanel
from regard.explain.parts import parts
from regard.view.store import read_panels
from regard.view.view import View

_HELD = 1 << 26
"""Weights that are held in memory: 256 MiB."""


def heatmap(
    weights: Any,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    title: str = "",
    down: str = "",
    along: str = "",
    full: float | None = None,
) -> View:
    """Return a view of one map.

    Args:
        weights: a tensor or array [R, C]; captured weights of one sequence; `LazyRows`, or any object with `shape` and
            row slices, of any size: rows are loaded in blocks.
        rows, columns: names of rows and columns; empty to number them.
        title: title of the map.
        down, along: axis labels of rows and columns.
        full: magnitude of the darkest colour; None for the maximum, or for 1 if rows are loaded in blocks.

    >>> view = heatmap([[0.9, 0.1], [0.2, 0.8]], ["der", "Hund"], ["the", "dog"], title="the dog")
    >>> view.panels[0].rows
    ('der', 'Hund')
    """
    source = as_lazy_rows(weights)
    height, width = source.shape
    _check(rows, height, "rows")
    _check(columns, width, "columns")
    names = tuple(rows), tuple(columns)
    if not isinstance(weights, LazyRows) and height * width <= _HELD and full is None:
        return View((Panel(title, torch.from_numpy(source.read(0, height)), down, along, *names),))
    nothing, largest = torch.zeros(0, 0), 1.0 if full is None else full
    return View((StreamedPanel(title, nothing, down, along, *names, source=source, full=largest),))


def heads(
    weights: Any,
    rows: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    kind: Literal["self", "causal", "cross"] | None = None,
    queries: Any = None,
    keys: Any = None,
) -> View:
    """Return a view of the attention of several layers and heads.

    Args:
        weights: [L, H, T, S], [H, T, S], or a sequence of layers [H, T, S].
        rows, columns: names of the T queries and S keys; None of columns for those of the rows.
        title: what it shows.
        kind: kind of attention; None to infer it from names and weights.
        queries, keys: [L, H, T, D] and [L, H, S, D], to see them dimension by dimension.

    >>> view = heads(torch.rand(2, 3, 5, 5).softmax(-1), "a b c d e".split())
    >>> view.panels[0].kind, list(view.panels[0].values.shape)
    ('self', [5, 5])
    """
    stacked = _stacked(weights)
    layers, number, height, width = stacked.shape
    columns = rows if columns is None else columns
    _check(rows, height, "rows")
    _check(columns, width, "columns")
    if kind is None:
        kind = _kind(stacked, rows, columns)
    vectors = [None if one is None else _stacked(one) for one in (queries, keys)]
    for name, one, places in (("queries", vectors[0], height), ("keys", vectors[1], width)):
        if one is not None and one.shape[:3] != (layers, number, places):
            raise ValueError(f"{name} must be [{layers}, {number}, {places}, D]; got {list(one.shape)}")
    panel = HeadsPanel(
        title,
        stacked.mean((0, 1)),
        "query",
        "key",
        tuple(rows),
        tuple(columns),
        weights=stacked,
        kind=kind,
        queries=vectors[0],
        keys=vectors[1],
    )
    return View((panel,))


def lines(weights: Any, rows: Sequence[str] = (), columns: Sequence[str] | None = None, *, title: str = "") -> View:
    """Return a view that initially shows lines between two columns of tokens.

    Args:
        weights: [T, S], or of several heads and layers as `heads` takes them.
        rows, columns: names of queries and keys; None of columns for those of the rows.
        title: what it shows.

    >>> lines([[0.9, 0.1]], ["Hund"], ["dog", "the"]).style
    'lines'
    """
    several = isinstance(weights, (list, tuple)) and isinstance(weights[0], Tensor)
    if several or len(getattr(weights, "shape", (0, 0))) > 2:
        view = heads(weights, rows, columns, title=title)
    else:
        view = heatmap(weights, rows, rows if columns is None else columns, title=title)
    return replace(view, style="lines")


def neurons(
    query: Any,
    key: Any,
    rows: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    title: str = "",
) -> View:
    """Return a view of scaled dot-product attention, dimension by dimension.

    Args:
        query, key: [L, H, T, D] and [L, H, S, D]; leading axes may be left out.
        rows, columns: names of queries and keys; None of columns for those of the rows.
        scale: factor of the dot products; None for 1 / sqrt(D).
        causal: queries attend only to keys up to their own position.
        title: what it shows.

    >>> neurons(torch.randn(3, 4), torch.randn(3, 4), "a b c".split()).panels[0].weights.shape
    torch.Size([1, 1, 3, 3])
    """
    queries, keys = _stacked(query), _stacked(key)
    logits = queries @ keys.transpose(-1, -2) * (queries.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        later = torch.ones_like(logits[0, 0], dtype=torch.bool).triu(1 + logits.shape[-1] - logits.shape[-2])
        logits = logits.masked_fill(later, -torch.inf)
    view = heads(logits.softmax(-1), rows, columns, title=title, queries=queries, keys=keys)
    return replace(view, style="neurons")


def curves(values: Any, names: Sequence[str] = (), steps: Sequence[str] = (), *, title: str = "") -> View:
    """Return a view of numbers over time.

    Args:
        values: [R, T].
        names: of the R curves.
        steps: names of the T steps.
        title: what it shows.

    >>> curves([[0.1, 0.5, 0.9]], ["forget gate"], ["a", "long", "story"]).panels[0].values.shape
    torch.Size([1, 3])
    """
    held = torch.from_numpy(to_float32(values))
    _check(names, len(held), "names")
    _check(steps, held.shape[1], "steps")
    return View((CurvesPanel(title, held, "", "", tuple(names), tuple(steps)),))


def captured(
    seen: Captured, rows: Sequence[str] = (), columns: Sequence[str] | None = None, *, batch: int = 0, title: str = ""
) -> View:
    """Return a view of attention captured by `regard.capture`: a panel per kind, with its layers and heads.

    Args:
        seen: the capture of a model that has run.
        rows: target tokens, or those of the only text.
        columns: source tokens; None for the same text.
        batch: index of the sequence in the batch.
        title: prefix of each panel's title.

    >>> from regard import capture
    >>> model = nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    >>> with capture(model) as seen:
    ...     _ = model(torch.randn(1, 3, 8))
    >>> captured(seen, ["a", "b", "c"]).panels[0].weights.shape
    torch.Size([1, 2, 3, 3])
    """
    found = panels_by_kind(seen, rows, columns, batch=batch)
    if not found:
        raise ValueError("nothing was captured; run the model inside `with regard.capture(model) as seen:`")
    return View(tuple(replace(one, title=f"{title}: {one.title}" if title else one.title) for one in found), title)


def parameters(model: nn.Module, *, title: str = "") -> View:
    """Return a view of the parameter counts of a model's parts, trainable and frozen.

    >>> layer = nn.Linear(3, 5).requires_grad_(False)
    >>> parameters(nn.Sequential(layer, nn.Linear(5, 2))).panels[0].trainable
    (0.0, 1.0)
    """
    return View((parts(model, title=title),))


def load(path: str | Path) -> View:
    """Return a view that was saved as .npz, .safetensors or .json.

    Raises:
        ValueError: it is no such file.
    """
    return View(tuple(read_panels(Path(path))))


def difference(first: View, second: View) -> View:
    """Subtract the second view from the first, panel by panel, to compare the attention of two models.

    Raises:
        ValueError: their rows and columns differ.

    >>> one, other = heatmap([[0.9, 0.1]], ["x"], ["a", "b"]), heatmap([[0.4, 0.6]], ["x"], ["a", "b"])
    >>> difference(one, other).panels[0].values
    tensor([[ 0.5000, -0.5000]])
    """
    if len(first.panels) != len(second.panels):
        raise ValueError(f"one view has {len(first.panels)} panels, the other {len(second.panels)}")
    return View(tuple(_difference(one, other) for one, other in zip(first.panels, second.panels, strict=True)))


def _difference(first: Panel, second: Panel) -> Panel:
    if (first.rows, first.columns) != (second.rows, second.columns) or first.values.shape != second.values.shape:
        raise ValueError(f"{first.title!r} and {second.title!r} are not of the same rows and columns")
    values = first.values - second.values
    title = (
        f"{first.title}: less that of the other" if first.title == second.title else f"{first.title} − {second.title}"
    )
    if isinstance(first, HeadsPanel) and isinstance(second, HeadsPanel) and first.weights.shape == second.weights.shape:
        return replace(
            first, title=title, values=values, weights=first.weights - second.weights, queries=None, keys=None
        )
    return Panel(title, values, first.down, first.along, first.rows, first.columns)


def _stacked(weights: Any) -> Tensor:
    """Return weights as [L, H, T, S] in float32."""
    if isinstance(weights, (list, tuple)) and weights and isinstance(weights[0], Tensor):
        weights = torch.stack([one.detach().float().cpu() for one in weights])
    held = torch.from_numpy(to_float32(weights))
    if held.dim() > 4 or held.dim() < 2:
        raise ValueError(f"weights must be [layers, heads, queries, keys]; got {list(held.shape)}")
    return held.reshape(*[1] * (4 - held.dim()), *held.shape)


def _kind(weights: Tensor, rows: Sequence[str], columns: Sequence[str]) -> Literal["self", "causal", "cross"]:
    height, width = weights.shape[-2:]
    if tuple(rows) != tuple(columns) or height != width:
        return "cross"
    return "self" if height < 2 or bool(weights.triu(1).any()) else "causal"


def _check(names: Sequence[str], count: int, what: str) -> None:
    if isinstance(names, str):
        raise ValueError(f"{what} must be a sequence of names, one for each; got one text: {names[:40]!r}")
    if names and len(names) != count:
        raise ValueError(f"{len(names)} names of {what} for {count}; give one for each")
