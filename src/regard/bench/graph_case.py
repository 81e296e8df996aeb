"""Benchmark case of graph attention along edges."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard import ops
from regard.bench import plain
from regard.bench.case import Case, Machine, Way

_PLAIN_PAIRS = 1 << 24
"""Maximum number of node pairs over all heads for the plain implementation, which is dense."""


@dataclass(frozen=True)
class GraphCase(Case):
    """Graph attention on a random graph, with some nodes without neighbours.

    Attributes:
        nodes: N.
        edges: E.
        heads: H.
        width: D.
    """

    nodes: int
    edges: int
    heads: int
    width: int

    @property
    def mask(self) -> str:
        return f"{self.edges} edges"

    @property
    def size(self) -> str:
        return f"{self.nodes}×{self.heads}×{self.width}"

    def shapes(self) -> list[tuple[int, ...]]:
        return [(self.nodes, self.heads, self.width), (self.heads, self.width), (self.heads, self.width)]

    def pairs(self, device: torch.device) -> Tensor:
        """Return unique edges [2, E], sorted by target; the first node has no neighbours."""
        generator = torch.Generator("cpu").manual_seed(0)
        every = torch.randperm(self.nodes * (self.nodes - 1), generator=generator, device="cpu")
        chosen = every[: self.edges].sort().values
        # Sorted pair numbers are sorted by target; target + 1 leaves the first node without neighbours.
        return torch.stack((chosen % self.nodes, chosen // self.nodes + 1)).to(device)  # [2, E]

    def ways(self, machine: Machine) -> dict[str, Way]:
        edges = self.pairs(machine.device)

        def simple(node: Tensor, source: Tensor, target: Tensor) -> Tensor:
            return plain.graph(node, source, target, edges)

        ours = ops.Edges(edges, self.nodes)  # sort once outside the timed call, like a layer
        found: dict[str, Way] = {
            "ours": lambda node, source, target: ops.graph_attention(node, ours, source, target).context
        }
        if self.heads * self.nodes**2 <= _PLAIN_PAIRS:
            found["plain"] = simple
            if machine.compiles:
                found["compile"] = torch.compile(simple, dynamic=False)
        if importlib.util.find_spec("torch_geometric"):
            found["pyg"] = self._geometric(edges)
        return found

    def _geometric(self, edges: Tensor) -> Way:
        """Return PyTorch Geometric's layer without its input projection, which our op excludes as well."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # raised by its own dependencies
            geometric: Any = importlib.import_module("torch_geometric.nn")
        width = self.heads * self.width
        layer = geometric.GATConv(width, self.width, self.heads, add_self_loops=False, bias=False).to(edges.device)
        layer.lin = torch.nn.Identity()

        def read(node: Tensor, source: Tensor, target: Tensor) -> Tensor:
            weights = {"att_src": source.unsqueeze(0), "att_dst": target.unsqueeze(0)}
            out: Tensor = torch.func.functional_call(layer, weights, (node.flatten(1), edges))  # [N, H * D]
            return out.view(-1, self.heads, self.width)

        return read
