"""Time spent per activity of a run, and a forecast of the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal, get_args

Activity = Literal["preparation", "updates", "validations", "checkpoints", "final measurements"]
ACTIVITIES: tuple[Activity, ...] = get_args(Activity)

_RECENT = 200  # number of updates in the moving average of the speed
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


class TimeSpent:
    """Measures the time per activity of a run, and forecasts the remaining time.

    Attributes:
        validation: estimated seconds of a validation, before the first is measured; None if unknown.
    """

    def __init__(self) -> None:
        self.validation: float | None = None
        self._seconds: dict[Activity, float] = {}
        self._counts: dict[Activity, int] = {}
        self._recent: deque[float] = deque(maxlen=_RECENT)

    @contextmanager
    def on(self, activity: Activity) -> Iterator[None]:
        """Measure the time inside this context."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.add(activity, perf_counter() - begin)

    def add(self, activity: Activity, seconds: float) -> None:
        """Add a measured duration."""
        self._seconds[activity] = self.seconds(activity) + seconds
        self._counts[activity] = self.count(activity) + 1
        if activity == "updates":
            self._recent.append(seconds)

    def seconds(self, activity: Activity) -> float:
        """Return the seconds spent on an activity."""
        return self._seconds.get(activity, 0.0)

    def count(self, activity: Activity) -> int:
        """Return the number of times that an activity was measured."""
        return self._counts.get(activity, 0)

    def by_activity(self) -> dict[str, float]:
        """Return the seconds per activity."""
        return {activity: round(seconds, 3) for activity, seconds in self._seconds.items()}

    @property
    def total(self) -> float:
        """Total seconds."""
        return sum(self._seconds.values())

    @property
    def update(self) -> float | None:
        """Mean seconds of recent updates, with the checkpoints between them; None before the first."""
        if not self._recent:
            return None
        writing = self.seconds("checkpoints") / max(self.seconds("updates"), 1e-9)
        return sum(self._recent) / len(self._recent) * (1 + writing)

    def left(self, updates: int, validations: int, final: float) -> float | None:
        """Return the remaining seconds; None before the first update.

        Args:
            updates: number of remaining updates.
            validations: number of remaining validations; ignored until one was measured or estimated.
            final: duration of the final measurements, in units of one validation.
        """
        if self.update is None:
            return None
        counted = self.count("validations")
        each = self.seconds("validations") / counted if counted else self.validation or 0.0
        return updates * self.update + (validations + final) * each

    def __str__(self) -> str:
        """Return a summary: "12 min: 10 min in 500 updates, 2 min in 5 validations"."""
        named = [(activity, seconds) for activity, seconds in self._seconds.items() if seconds >= 0.5]
        parts = [f"{duration(seconds)} in {self._named(activity)}" for activity, seconds in named]
        return f"{duration(self.total)}{': ' if parts else ''}{', '.join(parts)}"

    def _named(self, activity: Activity) -> str:
        count = self.count(activity)
        if activity in ("preparation", "final measurements"):
            return f"the {activity}"
        return f"{count:,} {activity}" if count != 1 else f"1 {activity.removesuffix('s')}"


def duration(seconds: float) -> str:
    """Format seconds with a unit, to about two digits.

    >>> [duration(seconds) for seconds in (0.0213, 0.4, 41.3, 100, 1000, 9000, 12 * 3600, 3 * 86400)]
    ['21 ms', '0.4 s', '41 s', '1 min 40 s', '17 min', '2.5 h', '12 h', '3 days']
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if round(seconds) < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 5 * _MINUTE:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if seconds < 1.5 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        hours = f"{seconds / _HOUR:.1f}" if seconds < 10 * _HOUR else f"{seconds / _HOUR:.0f}"
        return f"{hours.removesuffix('.0')} h"
    return f"{seconds / _DAY:.0f} days"
