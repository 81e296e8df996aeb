"""Lengths of time as a recipe writes them."""

from __future__ import annotations

import re

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Return the seconds of a time such as `90s`, `5m` or `1.5h`.

    Raises:
        ValueError: the text is no such time, or no time passes.

    >>> seconds("90s"), seconds("5m"), seconds("1.5h")
    (90.0, 300.0, 5400.0)
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smh])", text, re.ASCII)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{text[:40]!r} is not a time; write 90s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]
