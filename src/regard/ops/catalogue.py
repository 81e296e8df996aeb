"""All mechanisms of the library, found by the card that each carries."""

from __future__ import annotations

import importlib
import pkgutil
from typing import NamedTuple, get_args

from regard import ops
from regard.ops.card import Card, Family


class Entry(NamedTuple):
    """A card and the file or folder, relative to the package, that defines the mechanism."""

    card: Card
    source: str


def catalogue() -> list[Entry]:
    """Every mechanism, family by family in the order of `Family`, by name within.

    >>> [entry.card.name for entry in catalogue() if entry.card.family == "score"][:3]
    ['additive', 'bilinear', 'concat']
    """
    entries = []
    for module in pkgutil.iter_modules(ops.__path__):
        card = getattr(importlib.import_module(f"{ops.__name__}.{module.name}"), "CARD", None)
        if isinstance(card, Card):
            entries.append(Entry(card, f"ops/{module.name}/" if module.ispkg else f"ops/{module.name}.py"))
    families = get_args(Family)
    return sorted(entries, key=lambda entry: (families.index(entry.card.family), entry.card.name))
