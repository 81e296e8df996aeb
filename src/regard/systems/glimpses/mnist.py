"""MNIST digits on a canvas, from one .npz file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example
from regard.data.fields.vectors import array_of
from regard.data.hash_split import Part
from regard.data.problems import DataError, SkippedLines
from regard.systems.glimpses.canvas import Canvas, Glyph
from regard.systems.glimpses.sections import GLYPH, Setting


@dataclass(frozen=True)
class Mnist:
    """A split of MNIST on a `Canvas`; positions and clutter are deterministic.

    Clutter and second digits are drawn from the same split.

    Args:
        path: a .npz file with `x_train` [N, 28, 28] uint8, `y_train` [N], `x_test` and `y_test`.
        split: "train" (the first digits of x_train), "valid" (its last) or "test".
        train_size: number of training digits; None for all except the last `valid_size`.
        valid_size: number of validation digits.
        copies: number of training pictures per digit.
        seed: seed of positions and clutter.
        setting, side, clutter, patch, order: arguments of the `Canvas`.
    """

    path: Path
    split: Part = "train"
    train_size: int | None = field(default=None, kw_only=True)
    valid_size: int = field(default=5000, kw_only=True)
    copies: int = field(default=1, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    setting: Setting = field(default="plain", kw_only=True)
    side: int = field(default=GLYPH, kw_only=True)
    clutter: int = field(default=0, kw_only=True)
    patch: int = field(default=8, kw_only=True)
    order: Literal["places", "values"] = field(default="places", kw_only=True)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @property
    def skipped(self) -> SkippedLines:
        """No lines."""
        return SkippedLines()

    def settings(self) -> str:
        """All arguments except the path."""
        return repr(self).replace(repr(self.path), "")

    def __iter__(self) -> Iterator[Example]:
        digits, labels = self._digits()
        canvas = Canvas(setting=self.setting, side=self.side, clutter=self.clutter, patch=self.patch, order=self.order)
        part, copies = get_args(Part).index(self.split), self.copies if self.split == "train" else 1
        for number in range(len(digits) * copies):
            rng = np.random.default_rng((self.seed, part, number))

            def another(rng: np.random.Generator = rng) -> Glyph:
                chosen = rng.integers(len(digits))
                return Glyph(digits[chosen], str(labels[chosen]))

            own = number % len(digits)
            pixels, found = canvas.filled(Glyph(digits[own], str(labels[own])), another, rng)
            yield Example({"picture": pixels, "labels": found}, f"{self.path}: digit {own} of the split {self.split}")

    def _digits(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The digits [N, 28, 28] of this split, and their labels [N]."""
        state = self.path.stat() if self.path.exists() else None
        stamp = (0, 0) if state is None else (state.st_mtime_ns, state.st_size)
        kept = "test" if self.split == "test" else "train"
        digits, labels = _arrays(self.path, kept, stamp)
        if self.split == "test":
            return digits, labels
        end = len(digits) - self.valid_size
        if end < 1 or (self.train_size or 1) > end:
            raise DataError(
                f"{self.path}: x_train has {len(digits):,} digits, too few for data.valid_size={self.valid_size} and "
                f"data.train_size={self.train_size}; make one of them smaller"
            )
        mine = slice(end, None) if self.split == "valid" else slice(0, self.train_size or end)
        return digits[mine], labels[mine]


@lru_cache(maxsize=4)
def _arrays(path: Path, part: str, stamp: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return digits and labels of a part of the file, cached until the file changes."""
    digits: NDArray[Any] = array_of(f"{path}:x_{part}")
    labels: NDArray[Any] = array_of(f"{path}:y_{part}")
    if digits.dtype != np.uint8 or digits.ndim != 3 or digits.shape[1:] != (GLYPH, GLYPH) or not len(digits):
        raise DataError(
            f"{path}: x_{part} must be uint8 [N, {GLYPH}, {GLYPH}] with a digit; got {digits.dtype} "
            f"{list(digits.shape)}"
        )
    if labels.shape != digits.shape[:1] or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
        raise DataError(f"{path}: y_{part} must be a digit from 0 to 9 for each of the {len(digits)} of x_{part}")
    return digits, labels.astype(np.int64)
