"""Chart axes: horizontal and vertical scales, ticks and labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.report.figure import label, line
from regard.report.markup import Markup, join_markup
from regard.report.scale import Scale, tick_label

WIDTH, HEIGHT = 420.0, 250.0
_NAME, _LETTER = 26.0, 6.4  # width of the name of the heights, and of a letter of their numbers
_RIGHT, _TOP, _BOTTOM = 14.0, 12.0, 40.0


@dataclass(frozen=True)
class Axes:
    """Scales of a chart.

    Attributes:
        along, up: horizontal and vertical scale.
        width, height: size of the chart.
    """

    along: Scale
    up: Scale
    width: float = WIDTH
    height: float = HEIGHT

    @staticmethod
    def over(
        steps: Iterable[float], values: Iterable[float], *, logarithmic: bool | None = None, zero: bool = False
    ) -> Axes:
        """Return axes that cover all points.

        Args:
            steps: horizontal values.
            values: vertical values.
            logarithmic: use a logarithmic vertical scale; None to choose by the range of values.
            zero: include 0 in the vertical scale, as bars require.
        """
        found = [*values, 0.0] if zero else list(values)
        up = Scale.over(found, HEIGHT - _BOTTOM, _TOP, logarithmic=False if zero else logarithmic)
        left = _NAME + _LETTER * max(len(tick_label(at)) for at in up.ticks())
        return Axes(Scale.over(steps, left, WIDTH - _RIGHT, logarithmic=False), up)

    @staticmethod
    def for_bars(count: int, values: Iterable[float]) -> Axes:
        """Return axes for `count` bars, centred at 0.5, 1.5, ..."""
        found = Axes.over([0.0, 1.0], values, zero=True)
        return Axes(Scale(0.0, float(max(1, count)), found.along.start, WIDTH - _RIGHT), found.up)

    def grid(self, along_name: str, up_name: str) -> Markup:
        """Return the lines and numbers of both axes, with their names."""
        return join_markup(
            self._heights(up_name),
            [
                label(tick_label(at), self.along.place(at), self._floor + 16, anchor="middle")
                for at in self.along.ticks()
            ],
            self._name(along_name),
        )

    def grid_of_bars(self, names: Sequence[str], along_name: str, up_name: str) -> Markup:
        """Return the lines and numbers of the heights, and a name below each bar."""
        below = [
            label(name, self.along.place(place + 0.5), self._floor + 16, anchor="middle")
            for place, name in enumerate(names)
        ]
        return join_markup(self._heights(up_name), below, self._name(along_name))

    def _heights(self, name: str) -> Markup:
        lines = []
        for at in self.up.ticks():
            y = self.up.place(at)
            lines += [
                line(self.along.start, y, self.width - _RIGHT, y, "grid"),
                label(tick_label(at), self.along.start - 7, y + 4, anchor="end"),
            ]
        scale = " (log)" if self.up.logarithmic else ""
        middle = (_TOP + self._floor) / 2
        return join_markup(lines, label(f"{name}{scale}", 12, middle, kind="axis", anchor="middle", turned=True))

    def _name(self, name: str) -> Markup:
        middle = (self.along.start + self.along.end) / 2
        return label(name, middle, self.height - 5, kind="axis", anchor="middle")

    @property
    def _floor(self) -> float:
        return self.height - _BOTTOM
