"""Panels: data of a view, tables of numbers with row and column names, and media below them.

Tasks create panels and `regard.view` draws them; neither depends on the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from regard.explain.lazy_rows import LazyRows


@dataclass(frozen=True)
class Panel:
    """Table of numbers in a figure, darker for larger values: attention weights, a memory, inputs and outputs.

    Panels with equal column names are stacked with aligned columns.

    Attributes:
        title: title of the panel.
        values: [R, C], the first row on top.
        down, along: axis labels of rows and columns.
        rows, columns: names of rows and columns; empty to number them.
        outlined: cells (row, column) with a frame around them, such as the links of a gold alignment.
        centres: a column position per row, such as the p_t of a local window; empty for none.
    """

    title: str
    values: Tensor
    down: str = ""
    along: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    outlined: tuple[tuple[int, int], ...] = ()
    centres: tuple[float, ...] = ()


@dataclass(frozen=True)
class HeadsPanel(Panel):
    """Attention of all layers and heads between the same rows and columns; `values` is their summary in a single map.

    Attributes:
        weights: [L, H, R, C], a distribution over the columns in each row.
        layers, heads: names of layers and heads; empty to number them from 1.
        kind: rows and columns are the same text ("self", "causal"), or two ("cross").
        queries, keys: [L, H, R, D] and [L, H, C, D], whose products are the logits; None if unknown.
    """

    weights: Tensor = field(default_factory=lambda: torch.zeros(0, 0, 0, 0, device="cpu"))
    layers: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    kind: Literal["self", "causal", "cross"] = "cross"
    queries: Tensor | None = None
    keys: Tensor | None = None

    def without_vectors(self) -> HeadsPanel:
        """Return the panel without queries and keys, which are larger than the weights of a short text."""
        return replace(self, queries=None, keys=None)


@dataclass(frozen=True)
class TextPanel(Panel):
    """A text in lines, with weights on its words and on whole lines: `values` [R, C] are those of the words.

    Values behind the last word of a line are zero.

    Attributes:
        words: the words of each line.
        line_weights: one per line.
    """

    words: tuple[tuple[str, ...], ...] = ()
    line_weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class RegionsPanel(Panel):
    """Words over a picture: `values` [T, S] are the weights of S regions for each of T words, which `rows` names.

    Attributes:
        picture: [C, H, W], uint8 or floats in [0, 1]; C is 1 or 3.
        grids: rows and columns of the regions of each scale, row by row; S in all.
    """

    picture: Tensor = field(default_factory=lambda: torch.zeros(1, 0, 0, device="cpu"))
    grids: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class GlimpsePanel(Panel):
    """Path of a retina over a picture: `values` [T, 2] are x and y of each step in [-1, 1].

    Attributes:
        picture: [C, H, W], uint8 or floats in [0, 1]; C is 1 or 3.
        size: pixels per side of the finest patch.
        scales: number of patches.
        factor: ratio of the sides of successive patches.
    """

    picture: Tensor = field(default_factory=lambda: torch.zeros(1, 0, 0, device="cpu"))
    size: int = 8
    scales: int = 1
    factor: int = 2


@dataclass(frozen=True)
class FramesPanel(Panel):
    """Symbols over a spectrogram: `values` [U, T'] are the weights of frames for each of U symbols.

    Attributes:
        spectrogram: [T, F], T a multiple of T' where an encoder joins frames.
        hop: seconds from one frame of the spectrogram to the next.
    """

    spectrogram: Tensor = field(default_factory=lambda: torch.zeros(0, 0, device="cpu"))
    hop: float = 0.010


@dataclass(frozen=True)
class GraphPanel(Panel):
    """Graph with edges as thick as the weights `values` [N, N] with which row nodes attend to column nodes.

    Attributes:
        places: [N, 2], coordinates of the nodes; the first node is the queried one.
        groups: label of each node, which determines its colour; "" for none.
    """

    places: Tensor = field(default_factory=lambda: torch.zeros(0, 2, device="cpu"))
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamedPanel(Panel):
    """Table too large for memory: its rows are computed while it is drawn, and `values` stays empty.

    Attributes:
        source: provides the rows.
        full: the largest magnitude, drawn in the darkest colour.
        signed: True if there are negative values.
    """

    values: Tensor = field(default_factory=lambda: torch.zeros(0, 0, device="cpu"))
    source: LazyRows = field(
        default_factory=lambda: LazyRows((0, 0), lambda first, last: torch.zeros(0, 0, device="cpu"))
    )
    full: float = 1.0
    signed: bool = False


@dataclass(frozen=True)
class CurvesPanel(Panel):
    """Numbers over time: `values` [R, C] are R curves of C steps, such as the gates of a recurrent network."""


@dataclass(frozen=True)
class ParametersPanel(Panel):
    """Parts of a model: `values` [N, 1] are the numbers of parameters of its parts, `rows` their names.

    Dots in names separate nested modules: `encoder.layers.0.cross`.

    Attributes:
        trainable: trainable share of each part, from 0 to 1.
        shapes: of each part, "512 x 256".
    """

    trainable: tuple[float, ...] = ()
    shapes: tuple[str, ...] = ()
