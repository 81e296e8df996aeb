"""Canvas: places digits in a picture, among clutter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.problems import DataError
from regard.systems.glimpses.sections import GLYPH, Setting

Pixels = NDArray[np.uint8]
APART = 20
"""Minimum horizontal distance between the centres of two digits in pixels, so that their order is unambiguous."""


class Glyph(NamedTuple):
    """One digit: its pixels [28, 28], light on dark, and its label."""

    pixels: Pixels
    label: str


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """Places digits in a picture. Where they overlap, the lighter pixel is kept.

    Args:
        setting: `"plain"`, `"translated"`, `"cluttered"` or `"pairs"`.
        side: pixels per side.
        clutter: number of square pieces of other digits.
        patch: pixels per side of a clutter piece.
        order: order of the labels of a pair: `"places"` or `"values"`.

    >>> glyph = Glyph(np.full((28, 28), 9, np.uint8), "7")
    >>> pixels, labels = Canvas(setting="plain", side=32).filled(glyph, lambda: glyph, np.random.default_rng(0))
    >>> pixels.shape, int(pixels.sum()) == 9 * 28 * 28, labels
    ((1, 32, 32), True, ['7'])
    """

    setting: Setting = "plain"
    side: int = GLYPH
    clutter: int = 0
    patch: int = 8
    order: Literal["places", "values"] = "places"

    def __post_init__(self) -> None:
        least = 2 * GLYPH if self.setting == "pairs" else GLYPH
        if self.side < least:
            raise DataError(f"a picture of the setting {self.setting!r} has {least} pixels a side or more; {self.side}")

    def filled(self, glyph: Glyph, another: Callable[[], Glyph], rng: np.random.Generator) -> tuple[Pixels, list[str]]:
        """Return the pixels [1, side, side] and the labels of a picture.

        Args:
            glyph: the digit, or one of a pair.
            another: function that draws another digit: the second of a pair, and sources of clutter.
            rng: generator of the positions.
        """
        picture = np.zeros((self.side, self.side), np.uint8)
        for _ in range(self.clutter):
            row, column = rng.integers(0, GLYPH - self.patch + 1, 2)
            piece = another().pixels[row : row + self.patch, column : column + self.patch]
            self._lay(picture, piece, *rng.integers(0, self.side - self.patch + 1, 2))
        if self.setting == "pairs":
            return picture[None], self._pair(picture, glyph, another(), rng)
        middle = (self.side - GLYPH) // 2
        place = (middle, middle) if self.setting == "plain" else rng.integers(0, self.side - GLYPH + 1, 2)
        self._lay(picture, glyph.pixels, *place)
        return picture[None], [glyph.label]

    def _pair(self, picture: Pixels, one: Glyph, other: Glyph, rng: np.random.Generator) -> list[str]:
        """Place two digits with at least `APART` pixels between their centres horizontally; return their labels."""
        room = self.side - GLYPH
        columns = rng.integers(0, room + 1, 2)
        while abs(columns[0] - columns[1]) < APART:
            columns = rng.integers(0, room + 1, 2)
        for glyph, row, column in zip((one, other), rng.integers(0, room + 1, 2), columns, strict=True):
            self._lay(picture, glyph.pixels, row, column)
        labels = [one.label, other.label] if columns[0] < columns[1] else [other.label, one.label]
        return sorted(labels) if self.order == "values" else labels

    def _lay(self, picture: Pixels, piece: Pixels, row: int, column: int) -> None:
        """Draw a square piece into a picture, in place."""
        size = len(piece)
        part = picture[row : row + size, column : column + size]
        np.maximum(part, piece, out=part)
