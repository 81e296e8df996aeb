"""Graph attention (Veličković et al. 2018)."""

from regard.ops.graph.api import CARD, graph_attention
from regard.ops.graph.attended import GraphAttended
from regard.ops.graph.edges import Edges, KnownEdges, add_self_loops

__all__ = ["CARD", "Edges", "GraphAttended", "KnownEdges", "add_self_loops", "graph_attention"]
