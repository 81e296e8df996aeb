"""Graphs with node labels: read from files, or generated."""

from regard.systems.nodes.graphs.communities import Communities
from regard.systems.nodes.graphs.graph import Graph, GraphSource
from regard.systems.nodes.graphs.members import Members
from regard.systems.nodes.graphs.planetoid import Planetoid
from regard.systems.nodes.graphs.tables import GraphTables

__all__ = ["Communities", "Graph", "GraphSource", "GraphTables", "Members", "Planetoid"]
