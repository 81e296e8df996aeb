"""How much of a graph a program has at once."""

from __future__ import annotations

from typing import NamedTuple

import triton

_ENTRIES = 2048
_EDGES = 16


class Tile(NamedTuple):
    """Some heads of a node, whole, and as many of its edges at a time.

    Attributes:
        edges: at a time.
        heads: of a program.
        width: D, as a power of two.
        pieces: programs that share the heads of a node.
        warps: of a program.
    """

    edges: int
    heads: int
    width: int
    pieces: int
    warps: int


def tile(heads: int, width: int) -> Tile:
    """Up to 2,048 entries, of up to 16 edges."""
    columns = triton.next_power_of_2(max(1, width))
    together = min(triton.next_power_of_2(max(1, heads)), max(1, _ENTRIES // 4 // columns))
    edges = min(_EDGES, max(1, _ENTRIES // (together * columns)))
    return Tile(edges, together, columns, triton.cdiv(heads, together), 2 if edges * together * columns <= 1024 else 4)
