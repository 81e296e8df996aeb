"""Cards: one per mechanism, beside its definition, and the catalogue of all of them."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Family = Literal["score", "score term", "aligner", "shape of use", "whole matrix", "memory", "structure loss"]


@dataclass(frozen=True, kw_only=True)
class Card:
    """Facts of one mechanism, for `regard mechanisms`, the table of its pages and the tests.

    Each definition has one: `CARD = Card(...)`. A test checks that its op, module, test file, page and implementations
    exist.
    """

    name: str
    """The mathematics, as one word: `additive`. Also the name of its test and of its page."""
    family: Family
    equation: str
    paper: str
    """Authors, year and equation or section."""
    cost: str
    """Multiply-adds (or other work) for B = H = 1; T queries, S keys, D key width, A hidden width."""
    op: str
    """The public function, `regard.ops.` understood."""
    module: str
    """The public module, `regard.nn.` understood."""
    implementations: tuple[str, ...] = ("reference",)
    """The names that `impl=` takes of those that compute every read, on every device."""
    conditional: tuple[str, ...] = ()
    """The names of those that compute some reads, on a CPU too; `impl=None` chooses them where they are faster."""
    kernels: tuple[str, ...] = ()
    """The names of those that need a GPU."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names that `impl=` accepts and `Attended.impl` reports."""
        return *self.implementations, *self.conditional, *self.kernels

    def ways(self) -> str:
        """Return all implementations as readable text.

        >>> Card(name="", family="score", equation="", paper="", cost="", op="", module="", kernels=("fused",)).ways()
        'reference; on a GPU fused'
        """
        parts = ["", "; some reads ", "; on a GPU "]
        kinds = (self.implementations, self.conditional, self.kernels)
        return "".join(part + ", ".join(names) for part, names in zip(parts, kinds, strict=True) if names)


class CatalogueEntry(NamedTuple):
    """A card and the file or folder, relative to the package, that defines the mechanism."""

    card: Card
    source: str


def catalogue() -> list[CatalogueEntry]:
    """Return all mechanisms, sorted by family in the order of `Family`, then by name.

    >>> [entry.card.name for entry in catalogue() if entry.card.family == "score"][:3]
    ['additive', 'bilinear', 'concat']
    """
    from regard import ops  # whose modules import this one

    entries = []
    for module in pkgutil.iter_modules(ops.__path__):
        card = getattr(importlib.import_module(f"{ops.__name__}.{module.name}"), "CARD", None)
        if isinstance(card, Card):
            entries.append(CatalogueEntry(card, f"ops/{module.name}/" if module.ispkg else f"ops/{module.name}.py"))
    families = get_args(Family)
    return sorted(entries, key=lambda entry: (families.index(entry.card.family), entry.card.name))
