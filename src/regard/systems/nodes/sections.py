"""Recipe sections of nodes: graphs of files, generated communities, the graph attention network."""

from __future__ import annotations

import abc
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import DataSection, Reading, Split
from regard.recipes.data_sections import Files, SplitSection
from regard.recipes.files import DataFile

if TYPE_CHECKING:
    from regard.data.example import Examples
    from regard.systems.nodes.graphs import Graph, GraphSource


class GraphSection(DataSection):
    """A section of one graph, whose nodes are the examples."""

    @abc.abstractmethod
    def source(self) -> GraphSource:
        """Return what reads or generates the graph."""

    def graph(self) -> Graph:
        """Return the graph; read once, and again when its files have changed."""
        source: Any = self.source()
        stamps = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in source.files if path.exists())
        return _read(source, stamps)

    def examples(self, split: Split, reading: Reading) -> Examples | None:
        from regard.systems.nodes.graphs import Members

        graph = self.graph()
        there = split in graph.parts and (split != "test" or len(graph.parts[split]) > 0)
        return Members(graph, split) if there else None


@lru_cache(maxsize=2)
def _read(source: Any, stamps: tuple[tuple[int, int], ...]) -> Graph:
    graph: Graph = source.read()
    return graph


class CommunitiesData(GraphSection):
    """A graph of people who keep to their own; made on the spot."""

    format: Literal["communities"]
    """Says that it is this kind of data."""
    communities: int = Field(5, ge=2)
    """How many there are."""
    nodes: int = Field(600, ge=2)
    """Of all communities together."""
    inside: float = Field(4.0, ge=0)
    """How many neighbours in its own community a node has, on average."""
    outside: float = Field(1.0, ge=0)
    """How many in others."""
    features: int = Field(24, ge=1)
    """Numbers of a node."""
    signal: float = Field(1.0, ge=0)
    """How much features say about the community; 0 for nothing."""
    learned: int = Field(10, ge=1)
    """Nodes of each community to learn from."""
    valid_size: int = Field(150, ge=1)
    """How many nodes to validate on."""
    test_size: int = Field(300, ge=1)
    """How many nodes to test on."""
    seed: int = Field(0, ge=0)
    """Another seed, another graph."""

    def source(self) -> GraphSource:
        from regard.systems.nodes.graphs import Communities

        return Communities(**self.model_dump(exclude={"format"}))

    def check(self) -> None:
        self.source()


class PlanetoidData(GraphSection):
    """A citation graph in a .npz file, with its split: Cora, Citeseer."""

    format: Literal["planetoid"]
    """Says that it is this kind of data."""
    root: Path | None = None
    """The folder that the file is in; None for the folder you are in."""
    file: DataFile
    """The file, with the arrays that systems/nodes/README.md names."""
    normalise: bool = True
    """Whether the features of a node are made to sum to one."""

    def source(self) -> GraphSource:
        from regard.systems.nodes.graphs import Planetoid

        return Planetoid((self.root or Path()) / self.file, self.normalise)


class GraphData(Files, GraphSection):
    """A graph in two files with tabs between columns: nodes (id, label, features) and edges (two ids)."""

    format: Literal["graph"]
    """Says that it is this kind of data."""
    nodes: DataFile = "nodes.tsv"
    """A line for each node: its id, its label or nothing, and numbers."""
    edges: DataFile = "edges.tsv"
    """A line for each edge: two ids."""
    directed: bool = False
    """Whether only the second node of an edge reads the first; otherwise both read each other."""
    header: bool = False
    """Whether the first line of each file names its columns."""
    normalise: bool = False
    """Whether the features of a node are made to sum to one."""
    split: SplitSection = SplitSection(valid=0.1, test=0.1)
    """How the nodes with labels are divided: by the hash of their ids (source), or in the order of the file."""

    @model_validator(mode="after")
    def _by_node(self) -> GraphData:
        if self.split.by == "target":
            raise ValueError(
                "split.by is 'target', and nodes with one label would all fall together; it can be source or order"
            )
        return self

    def source(self) -> GraphSource:
        from regard.systems.nodes.graphs import GraphTables

        root = self.root or Path()
        return GraphTables(
            root / self.nodes,
            root / self.edges,
            **self.split.model_dump(),
            **self.model_dump(include={"directed", "header", "normalise", "encoding", "max_line", "bad_lines"}),
        )
