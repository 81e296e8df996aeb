"""The edges of a graph: checked once, and sorted once for those who want the edges of a node behind each other."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from regard.cuda_capture import is_recording


class SortedEdges(NamedTuple):
    """The edges of the first node, then those of the second, and so on.

    Attributes:
        start: [N + 1], where those of a node begin; the last is E.
        other: [E], the node at the other end.
        place: [E], which of the edges as they were given.
    """

    start: Tensor
    other: Tensor
    place: Tensor


class Edges:
    """Edges of a graph: the nodes that each node reads.

    Args:
        given: [2, E] integers, (source j, target i): i reads j; in any order, and any edge more than once.
        num_nodes: N.

    Raises:
        ValueError: no such integers, or an edge to a node that is not there.

    >>> edges = Edges(torch.tensor([[2, 0, 1], [1, 0, 0]]), 3)
    >>> edges.by_target
    SortedEdges(start=tensor([0, 2, 3, 3]), other=tensor([0, 1, 2]), place=tensor([1, 2, 0]))
    """

    def __init__(self, given: Tensor, num_nodes: int) -> None:
        _check(given, num_nodes)
        self.given = given.long()
        self.num_nodes = num_nodes

    @cached_property
    def by_target(self) -> SortedEdges:
        """The edges of those who read, `other` being read."""
        return self._sorted(1)

    @cached_property
    def by_source(self) -> SortedEdges:
        """The edges of those who are read, `other` reading."""
        return self._sorted(0)

    def _sorted(self, side: int) -> SortedEdges:
        node, place = self.given[side].sort(stable=True)
        start = torch.searchsorted(node, torch.arange(self.num_nodes + 1, device=node.device))
        return SortedEdges(start, self.given[1 - side].index_select(0, place), place)


class KnownEdges:
    """The edges of the graph that was given last: a layer is given the same one again and again.

    Args:
        loops: whether each node reads itself too.

    >>> known, edges = KnownEdges(loops=True), torch.tensor([[0], [1]])
    >>> known(edges, 2).given.tolist(), known(edges, 2) is known(edges, 2)
    ([[0, 0, 1], [1, 0, 1]], True)
    """

    def __init__(self, *, loops: bool) -> None:
        self.loops = loops
        self._last: tuple[Tensor, int, Edges] | None = None

    def __call__(self, edges: Tensor | Edges, num_nodes: int) -> Edges:
        """The edges, checked and sorted once for a tensor that does not change."""
        if isinstance(edges, Edges):
            if not self.loops:
                return edges
            edges = edges.given
        if torch.compiler.is_compiling() or edges.is_inference():  # nobody counts their changes
            return self._made(edges, num_nodes)
        if self._last is not None:
            given, version, found = self._last
            if given is edges and version == edges._version and found.num_nodes == num_nodes:
                return found
        made = self._made(edges, num_nodes)
        self._last = edges, edges._version, made
        return made

    def __getstate__(self) -> dict[str, object]:
        return {"loops": self.loops, "_last": None}

    def _made(self, given: Tensor, num_nodes: int) -> Edges:
        return Edges(add_self_loops(given, num_nodes) if self.loops else given, num_nodes)


def add_self_loops(edges: Tensor, num_nodes: int) -> Tensor:
    """The edges [2, E] with a loop on each node, once, also where there was one: [2, E'], loops last.

    >>> add_self_loops(torch.tensor([[0, 1, 1], [1, 1, 1]]), 3)
    tensor([[0, 0, 1, 2],
            [1, 0, 1, 2]])
    """
    between = edges[:, edges[0] != edges[1]]
    loops = torch.arange(num_nodes, dtype=edges.dtype, device=edges.device).expand(2, -1)
    return torch.cat((between, loops), dim=1)


def _check(edges: Tensor, num_nodes: int) -> None:
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.dtype not in (torch.int32, torch.int64):
        raise ValueError(
            "graph: edges must be integers [2, E], sources above targets; "
            f"got {edges.dtype} of shape {list(edges.shape)}"
        )
    if edges.numel() and not is_recording():
        least, largest = torch.stack(torch.aminmax(edges)).tolist()
        if not 0 <= least <= largest < num_nodes:
            raise ValueError(
                f"graph: edges run from node {least} to node {largest}, but nodes are numbered 0 to {num_nodes - 1}"
            )
