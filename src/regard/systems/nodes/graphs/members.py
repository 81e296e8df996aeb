"""Nodes of one split of a graph, as examples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.data.example import Example
from regard.data.fingerprint import fingerprint
from regard.data.hash_split import Part
from regard.data.problems import DataError, SkippedLines
from regard.systems.nodes.graphs.graph import Graph, Ints


@dataclass(frozen=True, eq=False)
class Members:
    """Nodes of a split with their labels, as examples; all splits share one graph.

    >>> import numpy as np
    >>> graph = Graph.of(["a", "b"], ["x", "y"], np.eye(2), [(0, 1)], {"train": [1]})
    >>> [example.fields for example in Members(graph, "train")]
    [{'node': 'b', 'label': 'y'}]
    """

    graph: Graph
    split: Part

    def __post_init__(self) -> None:
        if not len(self.numbers):
            raise DataError(f"the split {self.split} has no nodes with labels; give more nodes a label, or it a share")

    @property
    def numbers(self) -> Ints:
        """Indices of the nodes in the graph."""
        return self.graph.parts[self.split]

    @property
    def files(self) -> tuple[Path, ...]:
        """No files: the graph is already in memory."""
        return ()

    @property
    def skipped(self) -> SkippedLines:
        """Lines skipped when the graph was read."""
        return self.graph.skipped

    def settings(self) -> str:
        """The split."""
        return f"Members({self.split})"

    def sums(self) -> dict[str, str]:
        """Return checksums of the graph and of this split."""
        graph = self.graph
        arrays = (graph.values, graph.columns, graph.row_ends, graph.edges, self.numbers)
        numbers = [str(zlib.crc32(np.ascontiguousarray(one).data)) for one in arrays]
        return {"graph": fingerprint([*graph.names, *(repr(one) for one in graph.labels), *numbers])}

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Example]:
        for number in self.numbers.tolist():
            label = self.graph.labels[number]
            assert label is not None
            yield Example({"node": self.graph.names[number], "label": label}, f"node {self.graph.names[number]}")
