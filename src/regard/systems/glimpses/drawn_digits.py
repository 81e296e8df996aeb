"""Drawn digits: pen strokes with random distortions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.systems.glimpses.canvas import Canvas, Glyph
from regard.systems.glimpses.sections import GLYPH, Setting

Points = NDArray[np.float64]


def _arc(
    centre: tuple[float, float], radii: tuple[float, float], begin: float, end: float
) -> list[tuple[float, float]]:
    """Return points of an elliptical arc between two angles in turns; 0 is to the right, and 0.25 is down."""
    turns = np.linspace(begin, end, max(3, round(12 * abs(end - begin)) + 1)) * 2 * np.pi
    return [(centre[0] + radii[0] * float(np.cos(a)), centre[1] + radii[1] * float(np.sin(a))) for a in turns]


_STROKES: dict[str, list[list[tuple[float, float]]]] = {
    "0": [_arc((0.5, 0.5), (0.28, 0.42), 0.0, 1.0)],
    "1": [[(0.35, 0.25), (0.52, 0.08), (0.52, 0.92)]],
    "2": [[*_arc((0.5, 0.3), (0.26, 0.22), -0.5, 0.1), (0.22, 0.92), (0.8, 0.92)]],
    "3": [[*_arc((0.47, 0.29), (0.25, 0.21), -0.42, 0.25), *_arc((0.47, 0.71), (0.29, 0.21), -0.25, 0.42)]],
    "4": [[(0.62, 0.92), (0.62, 0.08), (0.2, 0.66), (0.82, 0.66)]],
    "5": [[(0.75, 0.08), (0.3, 0.08), (0.27, 0.44), *_arc((0.48, 0.66), (0.28, 0.26), -0.3, 0.4)]],
    "6": [[(0.66, 0.08), (0.36, 0.4), *_arc((0.5, 0.68), (0.26, 0.24), -0.5, 0.5)]],
    "7": [[(0.2, 0.08), (0.8, 0.08), (0.42, 0.92)]],
    "8": [_arc((0.5, 0.29), (0.22, 0.2), 0.25, 1.25), _arc((0.5, 0.71), (0.27, 0.22), -0.25, 0.75)],
    "9": [[*_arc((0.5, 0.33), (0.25, 0.24), 0.0, 1.0), (0.74, 0.4), (0.6, 0.92)]],
}
"""Strokes of each digit in the unit square, x to the right and y downward."""
_DOWN, _ALONG = (axis.reshape(-1, 1) + 0.5 for axis in np.indices((GLYPH, GLYPH)))
"""Centres of the pixels of a glyph, [28 * 28, 1] each."""


def draw_digit(label: str, rng: np.random.Generator) -> Glyph:
    """Draw a digit with random rotation, shear, scale, jitter and pen width.

    >>> draw_digit("7", np.random.default_rng(0)).pixels.shape
    (28, 28)
    """
    turn, shear = rng.normal(0, 0.12), rng.normal(0, 0.2)
    scale = 20 * rng.uniform(0.75, 1.05, 2)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    change = rotation @ np.array([[1.0, shear], [0.0, 1.0]]) @ np.diag(scale)
    centre = GLYPH / 2 + rng.normal(0, 0.8, 2)
    begins, ends = [], []
    for stroke in _STROKES[label]:
        points = (np.asarray(stroke) - 0.5 + rng.normal(0, 0.025, (len(stroke), 2))) @ change.T + centre
        begins.append(points[:-1])
        ends.append(points[1:])
    ink = _ink(np.concatenate(begins), np.concatenate(ends), rng.uniform(0.8, 1.7))
    return Glyph(np.rint(255 * rng.uniform(0.8, 1.0) * ink).astype(np.uint8), label)


def _ink(begins: Points, ends: Points, radius: float) -> Points:
    """Return the coverage [28, 28] of each pixel by thick lines, in [0, 1], from its distance to the nearest line."""
    (x, y), (along, down) = begins.T, (ends - begins).T  # [L] each
    right, below = _ALONG - x, _DOWN - y  # [28 * 28, L]
    share = ((right * along + below * down) / np.maximum(along**2 + down**2, 1e-9)).clip(0.0, 1.0)
    distance = np.sqrt(((right - share * along) ** 2 + (below - share * down) ** 2).min(1))
    covered: Points = (radius + 0.5 - distance).clip(0.0, 1.0).reshape(GLYPH, GLYPH)
    return covered


@dataclass(frozen=True)
class DrawnDigits(Generated):
    """Generated pictures of drawn digits on a `Canvas`, with noise.

    Args:
        split: "train", "valid" or "test"; each has its own random numbers.
        size: number of pictures.
        noise: standard deviation of the pixel noise, as a fraction of the range from black to white.
        setting, side, clutter, patch, order: arguments of the `Canvas`.
        seed: seed of the pictures.

    >>> example = DrawnDigits(size=1)[0]
    >>> example.fields["picture"].shape, example.fields["labels"]
    ((1, 28, 28), ['8'])
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    noise: float = field(default=0.1, kw_only=True)
    setting: Setting = field(default="plain", kw_only=True)
    side: int = field(default=GLYPH, kw_only=True)
    clutter: int = field(default=0, kw_only=True)
    patch: int = field(default=8, kw_only=True)
    order: Literal["places", "values"] = field(default="places", kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        self.canvas  # noqa: B018, validates the arguments early

    @property
    def canvas(self) -> Canvas:
        """The canvas of every picture."""
        return Canvas(setting=self.setting, side=self.side, clutter=self.clutter, patch=self.patch, order=self.order)

    def example(self, index: int) -> Example:
        rng = np.random.default_rng((self.seed, get_args(Part).index(self.split), index))

        def another() -> Glyph:
            return draw_digit(str(rng.integers(10)), rng)

        pixels, labels = self.canvas.filled(another(), another, rng)
        shaken = pixels + rng.normal(0, 255 * self.noise, pixels.shape) if self.noise else pixels
        picture = np.rint(shaken).clip(0, 255).astype(np.uint8)
        return Example({"picture": picture, "labels": labels}, self.where(index))
