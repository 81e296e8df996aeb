"""Metrics log: `metrics.jsonl` with one row per measurement, consistent with the checkpoints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.evaluate.metric_result import strict
from regard.runs.files import atomic_path

AVERAGED = "valid_averaged"
"""The validation split, measured with the average of the last checkpoints."""
_LAST = (AVERAGED, "test")


class MetricsLog:
    """Rows `{"step": ..., "split": "train" | "valid" | "valid_averaged" | "test", name: value, ...}`, one per line.

    A killed run may have logged steps after its last checkpoint; `rewind` drops them, and the resumed run writes equal
    rows again. Rows of "valid_averaged" and "test" belong to the end of a run and are dropped when it continues.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = MetricsLog(Path(folder) / "metrics.jsonl")
    ...     log.add(1, "train", loss=2.5)
    ...     log.add(2, "train", loss=2.0)
    ...     _ = log.rewind(1)
    ...     list(log)
    [{'step': 1, 'split': 'train', 'loss': 2.5}]

    JSON has finite numbers only: others are written as null, and read as infinite.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, step: int, split: str, **values: Any) -> None:
        """Append a row."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line({"step": step, "split": split, **values}))

    def rewind(self, step: int) -> list[str]:
        """Drop the rows after `step`, final results, and an incomplete last line.

        Returns:
            A message for each damaged line; damaged lines are moved to a separate file.
        """
        if not self.path.exists():
            return []
        lines = list(self._lines())
        kept = [row for _, row in lines if row is not None and row["step"] <= step and row["split"] not in _LAST]
        damaged = [(number, line) for number, (line, row) in enumerate(lines, 1) if row is None]
        beside = self.path.with_suffix(".damaged")
        if damaged:
            with beside.open("ab") as file:
                file.writelines(line + b"\n" for _, line in damaged)
        with atomic_path(self.path) as draft:
            draft.write_text("".join(map(_line, kept)), encoding="utf-8")
        return [f"{self.path}:{number} is damaged; the line is now in {beside}" for number, _ in damaged]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _, row in self._lines():
            if row is not None:
                yield row

    def _lines(self) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
        """Yield each line with its row, or None if it is damaged; skip an incomplete last line."""
        if not self.path.exists():
            return
        *lines, last = self.path.read_bytes().split(b"\n")
        for line in lines:
            yield line, _row(line)
        if (row := _row(last)) is not None:
            yield last, row


def _row(line: bytes) -> dict[str, Any] | None:
    """Return the row of a line, or None for an invalid line."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or type(row.get("step")) is not int or not isinstance(row.get("split"), str):
        return None
    return {name: math.inf if value is None else value for name, value in row.items()}


def _line(row: dict[str, Any]) -> str:
    measured = {name: value for name, value in row.items() if name != "split"}
    return json.dumps({**row, **strict(measured)}, ensure_ascii=False, allow_nan=False) + "\n"
