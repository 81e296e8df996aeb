"""Attention overlays: image regions, glimpse paths, and spectrogram frames.

These functions take arrays and labels and are independent of models.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from regard.view.drawing import Drawing, figure_of, write_figure
from regard.view.text import plain_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

SUFFIXES = (".png", ".svg", ".pdf")
_PANEL = 1.7  # inches of a picture in a strip
_LETTERS = 18  # of a label, per line
_LABEL = 1.4  # inches of such a line: panels are no narrower
_HALO = 2.2  # points of dark outline around light lines and letters, so that they show on any picture


def draw_regions(
    path: Path,
    picture: NDArray[Any] | Tensor,
    weights: NDArray[Any] | Tensor,
    labels: Sequence[str],
    grids: Sequence[tuple[int, int]],
    *,
    columns: int = 6,
    alpha: float = 0.75,
) -> str | None:
    """Draw an image once per word, overlaid with the word's weights over regions.

    The first panel is the image alone. Each other panel has the word above and its largest weight below. Colours are
    relative to the panel's largest weight. Regions of several scales are summed, each spread over the area it covers.

    Args:
        path: where to write; its suffix is .png, .svg or .pdf.
        picture: [C, H, W] or [H, W], uint8 or floats in [0, 1]; C is 1 or 3.
        weights: [T, S], of the S regions for each of T words.
        labels: the T words.
        grids: rows and columns of the regions of each scale, row by row; S in all.
        columns: maximum number of panels per row.
        alpha: opacity of the largest weight.

    Returns:
        A sentence about letters that no font of this machine has; None if all are drawn.

    Raises:
        ValueError: shapes that do not fit, another suffix, or a place that cannot be written to.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_regions(Path(folder) / "a.svg", torch.rand(3, 8, 8), torch.rand(2, 4), ["a", "dog"], [(2, 2)])
    ...     (Path(folder) / "a.svg").read_text()[:5]
    '<?xml'
    """
    return _save(figure_of([regions(picture, weights, labels, grids, columns=columns, alpha=alpha)]), path)


def regions(
    picture: NDArray[Any] | Tensor,
    weights: NDArray[Any] | Tensor,
    labels: Sequence[str],
    grids: Sequence[tuple[int, int]],
    *,
    columns: int = 6,
    alpha: float = 0.75,
    title: str = "",
) -> Drawing:
    """Return the drawing of `draw_regions`, with an optional title."""
    shown, rows = _pixels(picture), torch.as_tensor(weights).detach().float().cpu()
    count = sum(down * along for down, along in grids)
    if rows.dim() != 2 or rows.shape != (len(labels), count):
        raise ValueError(
            f"draw_regions: weights must be [words, regions] = [{len(labels)}, {count}]; got {list(rows.shape)}"
        )
    height, width = shown.shape[:2]
    heat = upsampled(rows, grids, (height, width))  # [T, H, W]
    across = min(columns, len(labels) + 1)
    down = -(-(len(labels) + 1) // across)
    side = _PANEL * min(1.0, height / width), _PANEL * min(1.0, width / height)
    lines = max((_label(label).count("\n") + 1 for label in labels), default=1)

    def on(figure: FigureBase) -> None:
        # Remove ticks: matplotlib lays out even invisible ones, in each panel.
        hidden: dict[str, Any] = {"xticks": (), "yticks": ()}
        panels = figure.subplots(down, across, squeeze=False, subplot_kw=hidden).ravel()
        for number, panel in enumerate(panels):
            panel.set_axis_off()
            if number > len(labels):
                continue
            panel.imshow(shown, interpolation="nearest")
            if number == 0:
                continue
            values, largest = heat[number - 1].numpy(), float(rows[number - 1].max())
            share = values / max(float(values.max()), 1e-12)
            panel.imshow(share, cmap="inferno", vmin=0.0, vmax=1.0, alpha=alpha * share, interpolation="bilinear")
            panel.set_title(_label(labels[number - 1]), fontsize=10, pad=3)
            panel.text(
                0.5, -0.03, f"{largest:.2f}", transform=panel.transAxes, ha="center", va="top", fontsize=7, color="0.4"
            )

    height_of_all = down * (side[0] + 0.24 + 0.17 * lines) + 0.12 + (0.3 if title else 0.0)
    note = "light: large weights, relative to the largest, whose number is below"
    return Drawing(across * (max(side[1], _LABEL) + 0.12), height_of_all, on, title, note, 10.0)


def draw_glimpses(
    path: Path,
    picture: NDArray[Any] | Tensor,
    locations: NDArray[Any] | Tensor,
    *,
    size: int,
    scales: int = 1,
    factor: int = 2,
    title: str = "",
) -> str | None:
    """Draw the path of a retina over a picture: a square per scale at each step, numbered, with a line between steps.

    Args:
        path: where to write; its suffix is .png, .svg or .pdf.
        picture: [C, H, W] or [H, W], uint8 or floats in [0, 1]; C is 1 or 3.
        locations: [T, 2], x and y of each step in [-1, 1], as `regard.ops.glimpse` takes them.
        size: pixels per side of the finest patch.
        scales: number of patches.
        factor: ratio of the sides of successive patches.
        title: a line above the picture.

    Returns:
        A sentence about letters that no font of this machine has; None if all are drawn.

    Raises:
        ValueError: shapes that do not fit, another suffix, or a place that cannot be written to.
    """
    return _save(figure_of([glimpses(picture, locations, size=size, scales=scales, factor=factor, title=title)]), path)


def glimpses(
    picture: NDArray[Any] | Tensor,
    locations: NDArray[Any] | Tensor,
    *,
    size: int,
    scales: int = 1,
    factor: int = 2,
    title: str = "",
) -> Drawing:
    """Return the drawing of `draw_glimpses`."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    shown, steps = _pixels(picture), torch.as_tensor(locations).detach().double().cpu().numpy()
    if steps.ndim != 2 or steps.shape[1] != 2 or not len(steps):
        raise ValueError(f"draw_glimpses: locations must be [steps, 2] with a step; got {list(steps.shape)}")
    height, width = shown.shape[:2]
    centres = (steps + 1.0) / 2.0 * (width, height)  # in pixels from the upper left corner
    reach = size * factor ** (scales - 1) / 2
    low = np.minimum(centres.min(0) - reach, 0.0) - 0.02 * max(width, height)
    high = np.maximum(centres.max(0) + reach, (width, height)) + 0.02 * max(width, height)
    across, down = high - low
    scale = 4.5 / max(across, down)

    def on(figure: FigureBase) -> None:
        axis = figure.subplots()
        axis.imshow(shown, extent=(0, width, height, 0), interpolation="nearest")
        axis.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), facecolor="0.85", xticks=[], yticks=[])
        axis.plot(*centres.T, color="white", linewidth=1.2, path_effects=_outlined(), zorder=3)
        colours = colormaps["cool"](
            np.linspace(0.0, 1.0, len(centres))
        )  # light on dark pictures, and outlined on light ones
        for (x, y), colour in zip(centres, colours, strict=True):
            for number in range(scales):
                half = size * factor**number / 2
                # The finer, the stronger.
                square = Rectangle((x - half, y - half), 2 * half, 2 * half, fill=False, edgecolor=colour, zorder=4)
                square.set(linewidth=1.8 if number == 0 else 0.9, alpha=1.0 if number == 0 else 0.6)
                square.set_path_effects(_outlined(3.0) if number == 0 else [])
                axis.add_patch(square)
        offset = size / 2 + 0.05 * max(across, down)
        places = _apart(centres, offset, low + offset / 2, high - offset / 2)
        for number, ((x, y), colour) in enumerate(zip(places, colours, strict=True), start=1):
            axis.text(
                x, y, str(number), color=colour, fontsize=11, fontweight="bold", ha="center", va="center",
                path_effects=_outlined(), zorder=5,
            )  # fmt: skip

    note = "numbers: order of the glimpses"
    return Drawing(max(across * scale, 1.5), max(down * scale, 1.0) + (0.3 if title else 0.0), on, title, note, 10.0)


def draw_alignment(
    path: Path,
    spectrogram: NDArray[Any] | Tensor,
    weights: NDArray[Any] | Tensor,
    labels: Sequence[str],
    *,
    hop: float = 0.010,
    title: str = "",
) -> str | None:
    """Draw a spectrogram, and below it the frame weights of each symbol on a shared time axis.

    Args:
        path: where to write; its suffix is .png, .svg or .pdf.
        spectrogram: [T, F], log-mel features of T frames.
        weights: [U, T'] of U symbols; T' may be smaller than T, as an encoder that joins frames leaves it.
        labels: the U symbols.
        hop: seconds from one frame of the spectrogram to the next.
        title: a line above the spectrogram.

    Returns:
        A sentence about letters that no font of this machine has; None if all are drawn.

    Raises:
        ValueError: shapes that do not fit, another suffix, or a place that cannot be written to.
    """
    return _save(figure_of([alignment(spectrogram, weights, labels, hop=hop, title=title)]), path)


def alignment(
    spectrogram: NDArray[Any] | Tensor,
    weights: NDArray[Any] | Tensor,
    labels: Sequence[str],
    *,
    hop: float = 0.010,
    title: str = "",
) -> Drawing:
    """Return the drawing of `draw_alignment`."""
    heard = torch.as_tensor(spectrogram).detach().float().cpu().numpy()
    rows = torch.as_tensor(weights).detach().float().cpu().numpy()
    if heard.ndim != 2 or not heard.size or rows.ndim != 2 or len(rows) != len(labels) or not rows.size:
        raise ValueError(
            f"draw_alignment: spectrogram must be [frames, features] and weights [{len(labels)}, frames]; "
            f"got {list(heard.shape)} and {list(rows.shape)}"
        )
    seconds = len(heard) * hop
    heights = 1.6, min(8.0, max(0.8, 0.19 * len(labels)))

    def on(figure: FigureBase) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=heights)
        # Silence is an extreme outlier: without a lower bound, all audible frames would have the same colour.
        bounds = np.percentile(heard, (5, 99.5))
        upper.imshow(
            heard.T, aspect="auto", origin="lower", cmap="magma", vmin=bounds[0], vmax=max(bounds[1], bounds[0] + 1e-6),
            extent=(0.0, seconds, 0, heard.shape[1]), interpolation="nearest",
        )  # fmt: skip
        upper.set_ylabel("mel band", fontsize=8)
        lower.imshow(
            rows, aspect="auto", cmap="Blues", vmin=0.0, vmax=max(float(rows.max()), 1e-12),
            extent=(0.0, seconds, len(labels), 0), interpolation="nearest",
        )  # fmt: skip
        every = max(1, -(-len(labels) // 42))  # of more symbols only some have room for their name
        lower.set_yticks(np.arange(0, len(labels), every) + 0.5, [_label(label) for label in labels[::every]])
        lower.set_xlabel("seconds", fontsize=8)
        for axis in (upper, lower):
            axis.tick_params(labelsize=8, length=2)

    width, height = min(12.0, max(5.0, 2.5 * seconds)) + 0.8, sum(heights) + (1.0 if title else 0.75)
    return Drawing(width, height, on, title, f"dark blue: a weight of {float(rows.max()):.2f}", 10.0)


def upsampled(weights: Tensor, grids: Sequence[tuple[int, int]], size: tuple[int, int]) -> Tensor:
    """Weights of regions as densities over pixels: [T, S] of grids that have S cells in all -> [T, H, W].

    A weight is spread evenly over its cell and then smoothed, so that at equal weights finer scales are brighter. The
    sum of each row is preserved.

    >>> upsampled(torch.tensor([[0.25, 0.75]]), [(1, 2)], (1, 4))
    tensor([[[0.1250, 0.1875, 0.3125, 0.3750]]])
    """
    total = weights.new_zeros(len(weights), *size)
    begin = 0
    for down, along in grids:
        part = weights[:, begin : begin + down * along].unflatten(1, (down, along)).unsqueeze(1)  # [T, 1, h, w]
        wide = F.interpolate(part, size=size, mode="bilinear", align_corners=False).squeeze(1)  # [T, H, W]
        # Interpolation changes the sum of a map, in particular at its edges: rescale to the sum of the weights.
        scale = part.sum((1, 2, 3)) / wide.sum((1, 2)).clamp(min=1e-12)
        total = total + wide * scale[:, None, None]
        begin += down * along
    return total


def _pixels(picture: NDArray[Any] | Tensor) -> NDArray[Any]:
    """Convert an image to matplotlib's format, [H, W, 3], floats in [0, 1]."""
    values = torch.as_tensor(picture).detach().cpu()
    values = values.unsqueeze(0) if values.dim() == 2 else values
    if values.dim() != 3 or values.shape[0] not in (1, 3) or not values.numel():
        raise ValueError(f"a picture must be [C, H, W] with C = 1 or 3, or [H, W]; got {list(values.shape)}")
    values = values.float() if values.is_floating_point() else values.float() / 255.0
    shown: NDArray[Any] = values.expand(3, -1, -1).permute(1, 2, 0).clamp(0.0, 1.0).numpy()  # [H, W, 3]
    return shown


def _apart(centres: NDArray[Any], offset: float, low: NDArray[Any], high: NDArray[Any]) -> list[NDArray[Any]]:
    """Choose label positions of the steps: beside their squares, inside the drawing, away from labels and path."""
    angles = np.arange(12) * np.pi / 6 - 0.75 * np.pi  # the upper left first
    around = offset * np.stack((np.cos(angles), np.sin(angles)), axis=1)  # [12, 2]
    shares = np.linspace(0.0, 1.0, 9)[:, None]
    path = [before + shares * (after - before) for before, after in pairwise(centres)]
    places: list[NDArray[Any]] = []
    for centre in centres:
        options = np.clip(centre + around, low, high)
        taken = np.concatenate([centres, *path, *(place[None] for place in places)])
        # Greedy: the candidate with the largest distance to its nearest obstacle.
        distance = np.linalg.norm(options[:, None] - taken[None], axis=2).min(axis=1)
        places.append(options[distance.argmax()])
    return places


def _label(text: str, letters: int = _LETTERS) -> str:
    """Wrap a label into at most three lines."""
    shown = "␣" if text.isspace() else plain_name(text)
    lines = textwrap.wrap(shown, letters) or [""]
    return "\n".join(lines if len(lines) <= 3 else [*lines[:2], f"{lines[2][: letters - 1]}…"])


def _outlined(width: float = _HALO) -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="0.1")]


def _save(figure: Figure, path: Path) -> str | None:
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: a picture is written as {', '.join(SUFFIXES)}; got {path.suffix!r}")
    try:
        return write_figure(figure, path, path.suffix)
    except OSError as problem:
        raise ValueError(f"{path}: cannot be written ({problem.strerror})") from problem
