"""Graphs whose nodes have labels: from files, or made on the spot."""

from regard.data.graphs.communities import Communities
from regard.data.graphs.graph import Graph, GraphSource
from regard.data.graphs.members import Members
from regard.data.graphs.planetoid import Planetoid
from regard.data.graphs.tables import GraphTables

__all__ = ["Communities", "Graph", "GraphSource", "GraphTables", "Members", "Planetoid"]
