"""The versions of packages that the tests run with, as constraints.txt has them."""

from __future__ import annotations

import re
from pathlib import Path

import regard

_PACKAGE = Path(regard.__file__).parent
_HOMES = (_PACKAGE / "constraints.txt", _PACKAGE.parents[1] / "constraints.txt")
"""In an installed package, and in a checkout."""


def pinned_versions() -> dict[str, str]:
    """Return the tested version of each package, by its name in lower case; nothing if the file is gone."""
    found = next((path for path in _HOMES if path.exists()), None)
    text = "" if found is None else found.read_text(encoding="utf-8")
    return {name.lower(): version for name, version in re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE)}


def newer(installed: str, tested: str) -> bool:
    """True if a version is of a later minor release than the tested one.

    >>> newer("2.15.0+cpu", "2.13.0"), newer("2.13.1", "2.13.0"), newer("3", "2.13.0"), newer("2.9.1", "2.13.0")
    (True, False, True, False)
    """
    return _release(installed) > _release(tested)


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d+(\.\d+)?", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()
