"""Chart scales: mapping from numbers to coordinates, and ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WIDE = 20.0
"""Ratio of the largest to the smallest value above which a scale is logarithmic."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """Mapping of an interval of numbers to an interval of coordinates.

    Attributes:
        low, high: the numbers at both ends; `low < high`.
        start, end: their coordinates.
        step: distance of ticks; a factor on a logarithmic scale.
        logarithmic: equal ratios, not differences, have equal lengths.
    """

    low: float
    high: float
    start: float
    end: float
    step: float = 1.0
    logarithmic: bool = False

    @staticmethod
    def over(values: Iterable[float], start: float, end: float, *, logarithmic: bool | None = None) -> Scale:
        """Return a scale that shows all values, its ends at round numbers.

        Args:
            values: finite numbers.
            start, end: places of the smallest and of the largest.
            logarithmic: None for a scale that depends on how far apart they lie.

        >>> scale = Scale.over([0.0, 0.93], 100, 0)
        >>> scale.low, scale.high, round(scale.place(0.5)), scale.ticks()
        (0.0, 1.0, 50, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
        >>> Scale.over([3, 2500], 0, 1).ticks()
        [1.0, 10.0, 100.0, 1000.0, 10000.0]
        """
        found = list(values) or [0.0, 1.0]
        low, high = min(found), max(found)
        if logarithmic is None:
            logarithmic = low > 0 and high / low > WIDE
        if logarithmic and low > 0:
            return Scale(10.0 ** math.floor(math.log10(low)), 10.0 ** _above(math.log10(high)), start, end, 10.0, True)
        if low == high:
            low, high = (0.0, 1.0) if low == 0 else (low - abs(low) * 0.1, high + abs(high) * 0.1)
        step = _step(high - low, 5)
        return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end, step)

    def place(self, value: float) -> float:
        """Return the coordinate of a number."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, low))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round tick values, including both ends."""
        if self.logarithmic:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            every = max(1, -(-(last - first) // 6))
            return [10.0**power for power in range(first, last + 1, every)]
        count = round((self.high - self.low) / self.step)
        return [round(self.low + place * self.step, 12) for place in range(count + 1)]


def _above(power: float) -> int:
    """Return the next whole power, one more than that of 1."""
    return math.ceil(power - 1e-9)


def _step(width: float, parts: int) -> float:
    """Return a round step that divides a width into about `parts` parts."""
    raw = width / parts
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in _STEPS if factor * power >= raw * (1 - 1e-9))


def tick_label(value: float) -> str:
    """Format a tick value.

    >>> [tick_label(value) for value in (0.0, 0.25, 1000.0, 12000.0, 2.5e6, 1e-05, 38.125)]
    ['0', '0.25', '1,000', '12k', '2.5M', '1e-05', '38.12']
    """
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:g}M"
    if size >= 1e4:
        return f"{value / 1e3:g}k"
    if 0 < size < 1e-3:
        return f"{value:.3g}"
    return f"{value:,.4g}" if size < 1000 else f"{value:,.0f}"
