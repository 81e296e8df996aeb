"""Random graphs with communities: a stochastic block model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import permutation
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.systems.nodes.graphs.graph import Graph, Ints


@dataclass(frozen=True)
class Communities:
    """A stochastic block model with noisy features: edges are frequent within communities and rare between them.

    A node's features are the direction vector of its community plus noise with a larger norm. The features of a single
    node rarely suffice to classify it; together with those of its neighbours they mostly do.

    Args:
        communities: number of communities.
        nodes: number of nodes in total.
        inside: mean number of neighbours in the own community.
        outside: mean number of neighbours in other communities.
        features: number of features per node.
        signal: norm of the direction vector; the noise has standard deviation 1 in each feature.
        learned: number of training nodes per community.
        valid_size, test_size: number of validation and test nodes.
        seed: seed of the graph.

    >>> graph = Communities(communities=2, nodes=40, learned=5, valid_size=10, test_size=10).read()
    >>> len(graph.names), graph.names[0], graph.labels[:3], [len(graph.parts[part]) for part in ("train", "test")]
    (40, 'n0', ('a', 'b', 'a'), [10, 10])
    """

    communities: int = 5
    nodes: int = 600
    inside: float = 4.0
    outside: float = 1.0
    features: int = 24
    signal: float = 1.0
    learned: int = 10
    valid_size: int = 150
    test_size: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        needed = self.communities * self.learned + self.valid_size + self.test_size
        if needed > self.nodes:
            raise DataError(
                f"nodes is {self.nodes}, and {needed} of them are to learn from, to validate and to test on"
            )

    @property
    def files(self) -> tuple[Path, ...]:
        """No files."""
        return ()

    def read(self) -> Graph:
        """Generate the graph."""
        draw = np.random.Generator(np.random.PCG64(self.seed))
        belongs = np.arange(self.nodes) % self.communities
        directions = draw.normal(size=(self.communities, self.features))
        directions *= self.signal / np.linalg.norm(directions, axis=1, keepdims=True)
        features = draw.normal(size=(self.nodes, self.features)) + directions[belongs]
        names = [f"n{number}" for number in range(self.nodes)]
        labels: list[str | None] = [_letters(community) for community in belongs.tolist()]
        return Graph.of(names, labels, features, self._edges(draw, belongs), self._parts(belongs))

    def _edges(self, draw: np.random.Generator, belongs: Ints) -> list[tuple[int, int]]:
        """Draw the edges: each pair is connected with a probability that depends on whether it shares a community."""
        mine = self.nodes / self.communities
        chance: NDArray[Any] = np.where(
            belongs[:, None] == belongs, self.inside / mine, self.outside / (self.nodes - mine)
        )
        # Only the upper triangle: edges are undirected, and there are no loops.
        joined = np.triu(draw.random((self.nodes, self.nodes)) < chance, 1)
        return [(one, other) for one, other in np.argwhere(joined).tolist()]

    def _parts(self, belongs: Ints) -> dict[Part, list[int]]:
        order = permutation(self.nodes, self.seed)
        places = [order[belongs[order] == community][: self.learned] for community in range(self.communities)]
        train = np.concatenate(places)
        rest = order[~np.isin(order, train)]
        valid, test = rest[: self.valid_size], rest[self.valid_size :][: self.test_size]
        return {"train": train.tolist(), "valid": valid.tolist(), "test": test.tolist()}


def _letters(number: int) -> str:
    """Return a number in base 26 as letters: a, b, ..., z, ba, bb and so on."""
    head, last = divmod(number, 26)
    return (_letters(head) if head else "") + chr(ord("a") + last)
