"""Clock: training time of a run, over all its parts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.runs.files import write_json


class Clock:
    """`clock.json` of a run folder: the seconds of all parts of a run, and whether the last ended without an error.

    >>> import tempfile
    >>> clock = Clock(Path(tempfile.mkdtemp()))
    >>> with clock.running():
    ...     time.sleep(0.02)
    >>> clock.clean, 0.02 < clock.seconds < 2
    (True, True)
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "clock.json"

    @property
    def seconds(self) -> float:
        """Duration of all parts together."""
        return float(self._read().get("seconds", 0.0))

    @property
    def clean(self) -> bool:
        """True if the last part ended without an error; an interrupt is none."""
        return bool(self._read().get("clean", False))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time a part of the run; one that is killed does not count."""
        before, begin, clean = self.seconds, time.perf_counter(), False
        self._write(before, clean)
        try:
            yield
            clean = True
        except SystemExit as end:
            clean = not end.code
            raise
        finally:
            self._write(before + time.perf_counter() - begin, clean)

    def _read(self) -> dict[str, float | bool]:
        try:
            content = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError):  # without a clock a run counts as not measured, and is measured again
            return {}
        good = isinstance(content, dict) and all(isinstance(one, int | float) for one in content.values())
        return content if good else {}

    def _write(self, seconds: float, clean: bool) -> None:
        write_json(self._path, {"seconds": round(seconds, 3), "clean": clean})
