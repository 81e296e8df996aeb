"""Lazy public names: a module is imported on the first access to one of its names.

PyTorch takes a second or two to import. Help, lists and errors in recipes are printed without it, because no package
on their import path imports a module before one of its names is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    Args:
        package: its `__name__`.
        homes: public name -> the module that defines it; a submodule maps to itself. No other public name may equal the
            name of a submodule, since importing a submodule binds its name in the package.

    >>> find = lazy("regard", {"PAD": "regard.specials", "specials": "regard.specials"})
    >>> find("PAD"), find("specials").UNK
    (0, 1)
    >>> find("pad")
    Traceback (most recent call last):
    AttributeError: module 'regard' has no attribute 'pad'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(homes[name])
        return module if homes[name] == f"{package}.{name}" else getattr(module, name)

    return find
