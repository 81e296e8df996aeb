"""Budget of updates of a run with `train.minutes`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from regard.runs.files import read_json, write_json

_NAME = "budget.json"


@dataclass(frozen=True)
class Budget:
    """Number of updates that fit into `train.minutes`, measured once, on the machine where the run started.

    It is stored with the run, so that resuming on another machine does not change it.

    Attributes:
        minutes: `train.minutes` at the time of measurement.
        begun: update after which it was measured; 0 for a new run.
        steps: total number of updates that fit.
    """

    minutes: float
    begun: int
    steps: int

    def within(self, minutes: float) -> int:
        """Return the total number of updates for these minutes: as measured, or in proportion after a change.

        >>> budget = Budget(minutes=10, begun=0, steps=500)
        >>> budget.within(10), budget.within(20)
        (500, 1000)
        """
        return self.begun + max(1, round((self.steps - self.begun) * minutes / self.minutes))

    def save(self, folder: Path) -> None:
        """Write the budget into the folder of a run."""
        write_json(folder / _NAME, asdict(self))

    @staticmethod
    def of(folder: Path) -> Budget | None:
        """Return the budget of a run; None without one."""
        path = folder / _NAME
        return Budget(**read_json(path)) if path.exists() else None
