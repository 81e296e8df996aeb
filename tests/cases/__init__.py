"""Every mechanism that reads keys under a mask, as data, so that one property test covers them all.

A family adds a file here with a list `CASES`.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.cases.case import Case

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(__path__, prefix=f"{__name__}.")
    for case in getattr(importlib.import_module(module.name), "CASES", [])
]
