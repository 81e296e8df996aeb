"""Public names whose modules are imported when they are asked for.

PyTorch takes a second or two to import. Whatever is said before it is needed (help, a list, what is wrong with a
recipe) is said at once, because no package on the way there imports it for names that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    Args:
        package: its `__name__`.
        homes: for each public name the module that it is in, which for a module is itself. Nothing else may be called
            like a module of the package, since importing one puts it into the package under its name.

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
