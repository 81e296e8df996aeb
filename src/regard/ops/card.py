"""The card of a mechanism: what `regard mechanisms`, the README's table and the tests know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["score", "score term", "aligner", "shape of use", "whole matrix", "memory", "structure loss"]


@dataclass(frozen=True, kw_only=True)
class Card:
    """One mechanism of the library.

    Every mechanism carries a card beside its definition, `CARD = Card(...)`. A test refuses one that lacks its
    op, its module, its test file or its page.
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
    """The names of those that run on every device."""
    kernels: tuple[str, ...] = ()
    """The names of those that need a GPU."""

    def ways(self) -> str:
        """All implementations, for people.

        >>> Card(name="", family="score", equation="", paper="", cost="", op="", module="", kernels=("fused",)).ways()
        'reference; on a GPU fused'
        """
        everywhere = ", ".join(self.implementations)
        return f"{everywhere}; on a GPU {', '.join(self.kernels)}" if self.kernels else everywhere
