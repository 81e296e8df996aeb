"""Training record: facts known only to the training process, saved as `report.json` in the run folder."""

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
        command: command line of the training.
        ended: reason, step and time in words.
        finished: the day and hour.
        seconds: duration per activity, since the run was last started or resumed.
        counts: number of occurrences per activity.
        warnings: all printed warnings.
        versions: versions of Python and of packages that affect results.
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
    """Return the versions of Python and of packages that affect results."""
    found = {"regard": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Return a description of the machine: system, processor, threads, and accelerator."""
    parts = [
        f"{platform.system()} {platform.machine()}",
        f"{os.cpu_count()} cores",
        f"{torch.get_num_threads()} threads",
    ]
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    return ", ".join(parts)
