"""Recipe sections of node classification: graph files, generated communities, the graph attention network."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import DataSection, FieldLayout, SplitName
from regard.recipes.data_sections import Files, SplitSection
from regard.recipes.files import DataFile

if TYPE_CHECKING:
    from regard.data.example import Examples
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe
    from regard.systems.nodes.graphs import Graph, GraphSource


class GraphSection(DataSection):
    """Base section of one graph, whose nodes are the examples."""

    @abc.abstractmethod
    def source(self) -> GraphSource:
        """Return the reader or generator of the graph."""

    def graph(self) -> Graph:
        """Return the graph, cached until its files change."""
        source: Any = self.source()
        stamps = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in source.files if path.exists())
        return _read(source, stamps)

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.systems.nodes.graphs import Members

        graph = self.graph()
        there = split in graph.parts and (split != "test" or len(graph.parts[split]) > 0)
        return Members(graph, split) if there else None


@lru_cache(maxsize=2)
def _read(source: Any, stamps: tuple[tuple[int, int], ...]) -> Graph:
    graph: Graph = source.read()
    return graph


class CommunitiesData(GraphSection):
    """Random graph with communities; generated."""

    format: Literal["communities"]
    """Selects this format."""
    communities: int = Field(5, ge=2)
    """Number of communities."""
    nodes: int = Field(600, ge=2)
    """Number of nodes in total."""
    inside: float = Field(4.0, ge=0)
    """Mean number of neighbours in a node's own community."""
    outside: float = Field(1.0, ge=0)
    """Mean number of neighbours in other communities."""
    features: int = Field(24, ge=1)
    """Number of features per node."""
    signal: float = Field(1.0, ge=0)
    """Norm of the community's direction in the features, relative to unit noise; 0 for uninformative features."""
    learned: int = Field(10, ge=1)
    """Number of training nodes per community."""
    valid_size: int = Field(150, ge=1)
    """Number of validation nodes."""
    test_size: int = Field(300, ge=1)
    """Number of test nodes."""
    seed: int = Field(0, ge=0)
    """Seed of the graph."""

    def source(self) -> GraphSource:
        from regard.systems.nodes.graphs import Communities

        return Communities(**self.model_dump(exclude={"format"}))

    def check(self) -> None:
        self.source()


class PlanetoidData(GraphSection):
    """A citation graph in a .npz file, with its split: Cora, Citeseer."""

    format: Literal["planetoid"]
    """Selects this format."""
    root: Path | None = None
    """Folder of the file; None for the working directory."""
    file: DataFile
    """File with the arrays listed in systems/nodes/README.md."""
    normalise: bool = True
    """Normalise the features of each node to sum to 1."""

    def source(self) -> GraphSource:
        from regard.systems.nodes.graphs import Planetoid

        return Planetoid((self.root or Path()) / self.file, self.normalise)


class GraphData(Files, GraphSection):
    """Graph in two tab-separated files: nodes (id, label, features) and edges (two ids)."""

    format: Literal["graph"]
    """Selects this format."""
    nodes: DataFile = "nodes.tsv"
    """Node file, one line per node: id, label (may be empty), features."""
    edges: DataFile = "edges.tsv"
    """Edge file, one line per edge: two ids."""
    directed: bool = False
    """Directed edges: only the second node attends to the first."""
    header: bool = False
    """The first line of each file is a header."""
    normalise: bool = False
    """Normalise the features of each node to sum to 1."""
    split: SplitSection = SplitSection(valid=0.1, test=0.1)
    """Split of the labelled nodes: by a hash of their ids (`source`), or in the order of the file."""

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


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of label metrics: a node has one label, even with spaces in it."""
    return {"whole": True} if metric.compares == "labels" else {}
