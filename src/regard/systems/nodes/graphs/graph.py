"""A graph with node features and partial node labels."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.hash_split import Part
from regard.data.problems import SkippedLines, TextError

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph of N named nodes with sparse features, edges, and a split of the labelled nodes.

    Attributes:
        names: names of the nodes.
        labels: labels of the nodes; None for unlabelled nodes.
        values: [K], non-zero features in row order (CSR).
        columns: [K], feature index of each value.
        row_ends: [N + 1], offset of each node's first value, then K.
        width: number C of features.
        edges: [2, E], (source, target): the target attends to the source. No self-loops, no duplicates.
        parts: labelled nodes of the splits train, valid and test.
        skipped: skipped lines of the files.

    >>> graph = Graph.of(["a", "b", "c"], ["x", None, "y"], np.eye(3), [(0, 1), (1, 0), (1, 1)], {"train": [0]})
    >>> graph.edges.tolist(), graph.isolated, graph.number("c")
    ([[1, 0], [0, 1]], 1, 2)
    """

    names: tuple[str, ...]
    labels: tuple[str | None, ...]
    values: Floats
    columns: Ints
    row_ends: Ints
    width: int
    edges: Ints
    parts: Mapping[Part, Ints]
    skipped: SkippedLines = field(default_factory=SkippedLines)

    @staticmethod
    def of(
        names: list[str],
        labels: list[str | None],
        features: NDArray[np.generic],
        edges: list[tuple[int, int]],
        parts: Mapping[Part, list[int]],
        skipped: SkippedLines | None = None,
    ) -> Graph:
        """Build a graph from dense features [N, C] and undirected edges between node indices."""
        dense = np.asarray(features, np.float32)
        rows, columns = dense.nonzero()
        ends = np.concatenate(([0], np.cumsum((dense != 0).sum(1))))
        pairs = np.asarray(edges, np.int64).reshape(-1, 2)
        return Graph(
            tuple(names),
            tuple(labels),
            dense[rows, columns],
            columns.astype(np.int64),
            ends.astype(np.int64),
            dense.shape[1],
            undirected_edges(pairs, len(names)),
            {part: np.asarray(members, np.int64) for part, members in parts.items()},
            skipped or SkippedLines(),
        )

    @property
    def isolated(self) -> int:
        """Number of nodes without an edge, which attend only to themselves."""
        return len(self.names) - len(np.unique(self.edges))

    def number(self, name: str) -> int:
        """Return the index of a node by its name.

        Raises:
            TextError: there is no such node; the message suggests the closest name.
        """
        if name in self._numbers:
            return self._numbers[name]
        near = difflib.get_close_matches(name, self.names[:10_000], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"nodes are called {', '.join(self.names[:3])} and so on"
        raise TextError(f"the graph has no node {name!r}; {hint}")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


class GraphSource(Protocol):
    """Source of a graph: files, or a generator."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The input files; none for generated graphs."""

    def read(self) -> Graph:
        """Read or generate the graph."""


def undirected_edges(pairs: Ints, count: int) -> Ints:
    """Return undirected edges [E, 2] as [2, E'] in both directions, without duplicates and loops, sorted by target.

    >>> undirected_edges(np.array([[0, 2], [2, 0], [1, 1]]), 3)
    array([[2, 0],
           [0, 2]])
    """
    return directed_edges(np.concatenate((pairs, pairs[:, ::-1])), count)


def directed_edges(pairs: Ints, count: int) -> Ints:
    """Return directed edges [E, 2], (source, target), as [2, E'], without duplicates and loops, sorted by target."""
    between = pairs[pairs[:, 0] != pairs[:, 1]]
    keys = np.unique(between[:, 1] * count + between[:, 0])
    return np.stack((keys % count, keys // count))


def normalised(values: Floats, row_ends: Ints) -> Floats:
    """Return the features of each node divided by the sum of their absolute values; zero rows stay zero.

    >>> normalised(np.array([1, 1, 4], np.float32), np.array([0, 2, 2, 3])).tolist()
    [0.5, 0.5, 1.0]
    """
    rows = np.repeat(np.arange(len(row_ends) - 1), np.diff(row_ends))
    sums = np.bincount(rows, np.abs(values), minlength=len(row_ends) - 1)
    # The lower bound avoids a division by zero.
    return (values / np.maximum(sums, np.finfo(np.float32).tiny)[rows]).astype(np.float32)
