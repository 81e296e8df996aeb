"""The outcome of a read along the edges of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.ops.attended import Attended
from regard.ops.weights import TopK, entropy


@dataclass(init=False, eq=False, repr=False)  # so that what spreads a model over devices finds the tensors inside
class GraphAttended:
    """The outcome of a read along edges: `Attended` for a graph, where a node reads its neighbours and nobody else.

    Attributes:
        context: [N, H, D] from the op, [N, C] from the module.
        edges: [2, E], (source, target) of each edge that was read, in the order of `weights()`, which are made when
            they are asked for.
        impl: the implementation that ran, by the name that `impl=` takes.

    >>> from regard.ops import graph_attention
    >>> node, edges = torch.tensor([[[0.0]], [[2.0]], [[4.0]]]), torch.tensor([[0, 2], [1, 1]])
    >>> out = graph_attention(node, edges, torch.zeros(1, 1), torch.zeros(1, 1))
    >>> out.weights(), out.context.flatten()            # node 1 reads 0 and 2; nobody writes to these
    (tensor([[0.5, 0.5]]), tensor([0., 2., 0.]))
    >>> out.alignment()
    tensor([[-1,  0, -1]])
    """

    context: Tensor
    edges: Tensor
    impl: str

    def __init__(
        self, context: Tensor, edges: Tensor, weigh: Callable[[], Tensor], num_nodes: int, heads: int, *, impl: str
    ) -> None:
        self.context = context
        self.edges = edges
        self._weigh = weigh
        self._num_nodes = num_nodes
        self._heads = heads
        self.impl = impl

    def replace(self, *, context: Tensor) -> GraphAttended:
        """The same read with its context laid out anew."""
        return GraphAttended(context, self.edges, self._weigh, self._num_nodes, self._heads, impl=self.impl)

    def weights(self) -> Tensor:
        """α of each edge, [H, E]. Differentiable; those of a target sum to one."""
        return self._weigh().T

    def topk(self, k: int) -> TopK:
        """The k largest weights of each node and the nodes it reads with them, [H, N, k]; past its edges 0 and -1."""
        if k < 1:
            raise ValueError(f"topk({k}): a node has at least one largest weight")
        found, (source, target) = self.weights(), self.edges
        falling = found.argsort(dim=1, descending=True, stable=True)
        order = falling.gather(1, target[falling].argsort(dim=1, stable=True))  # by target, then largest first
        degree = target.bincount(minlength=self._num_nodes)
        place = torch.arange(len(target), device=target.device) - (degree.cumsum(0) - degree)[target[order]]
        head, edge = (place < k).nonzero(as_tuple=True)
        chosen = order[head, edge]
        slot = (head, target[chosen], place[head, edge])
        weights = found.new_zeros(found.shape[0], self._num_nodes, k)
        nodes = source.new_full(weights.shape, -1)
        return TopK(weights.index_put(slot, found[head, chosen]), nodes.index_put(slot, source[chosen]))

    def entropy(self) -> Tensor:
        """-Σ_j α_ij log α_ij of each node in nats, [H, N]: 0 reads one neighbour (or none), log |N(i)| all alike."""
        return self._sum(entropy(self.weights().unsqueeze(2)), self.edges[1])

    def alignment(self) -> Tensor:
        """The neighbour that each node reads most, [H, N]; -1 for a node without any."""
        return self.topk(1).keys.squeeze(2)

    def coverage(self) -> Tensor:
        """Attention that each node gets from all others, Σ_i α_ij: [H, N]."""
        return self._sum(self.weights(), self.edges[0])

    def dense(self) -> Attended:
        """The same read as a matrix of all pairs, weights [1, H, N, N]: rows are made when they are asked for."""
        source, target = self.edges

        def weigh(head: Tensor, row: Tensor) -> Tensor:
            place, edge = (row.unsqueeze(1) == target).nonzero(as_tuple=True)
            chosen = self.weights().index_select(0, head)[:, edge].T
            rows = chosen.new_zeros(len(row), self._num_nodes, len(head))
            # [1, h, t, N]
            return rows.index_put((place, source[edge]), chosen, accumulate=True).permute(2, 0, 1).unsqueeze(0)

        return Attended(self.context, weigh, (1, self._heads, self._num_nodes, self._num_nodes), impl=self.impl)

    def _sum(self, per_edge: Tensor, node: Tensor) -> Tensor:
        return per_edge.new_zeros(per_edge.shape[0], self._num_nodes).index_add(1, node, per_edge)

    def __repr__(self) -> str:
        return f"GraphAttended(context={list(self.context.shape)}, weights=[{self._heads}, {self.edges.shape[1]}])"
