"""Record of a training: what only the process that trained knew, in `report.json` of the run folder."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

from regard import __version__
from regard.runs.files import read_json, write_json
from regard.runs.folder import RunError

_FILE = "report.json"
_PACKAGES = ("torch", "numpy", "tokenizers", "accelerate", "sacrebleu")


@dataclass(frozen=True)
class TrainingRecord:
    """Circumstances of a training: command, warnings, time, versions, machine.

    Attributes:
        command: as it was given.
        ended: reason, step and time in words.
        finished: the day and hour.
        seconds: of each activity, in the last part of the run.
        counts: how often each took place.
        warnings: all that were printed.
        versions: of Python and of the packages that decide results.
        machine: system, processor, threads, accelerator.
    """

    command: str = ""
    ended: str = ""
    finished: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""

    def save(self, folder: Path) -> None:
        """Write it into the folder of its run."""
        write_json(folder / _FILE, asdict(self))

    @staticmethod
    def of(folder: Path) -> TrainingRecord | None:
        """Return the record of a run; None of a run that has none, or one that cannot be read."""
        try:
            return _RECORD.validate_python(read_json(folder / _FILE))
        except (RunError, OSError, ValidationError):
            return None


_RECORD = TypeAdapter(TrainingRecord)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide results."""
    found = {"regard": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Return what computes: system, processor, threads, and the accelerator if there is one."""
    parts = [
        f"{platform.system()} {platform.machine()}",
        f"{os.cpu_count()} cores",
        f"{torch.get_num_threads()} threads",
    ]
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    return ", ".join(parts)
