"""Graph attention layer (GAT)."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from regard.nn.attention_module import CapturableModule
from regard.nn.checks import check_width, mapped
from regard.nn.sparse_rows import SparseRows
from regard.ops.dropout import scaled_dropout
from regard.ops.graph import Edges, GraphAttended, KnownEdges, graph_attention

Join = Literal["concat", "mean"]


class GraphAttention(CapturableModule):
    r"""A layer of a graph attention network: each node attends to its neighbours and itself with H heads.

    .. math:: e_{ij} = \mathrm{LeakyReLU}(a_\mathrm{dst}^\top W h_i + a_\mathrm{src}^\top W h_j), \quad
              h'_i = \Big\Vert_h \sum_{j \in N(i) \cup \{i\}} \alpha^h_{ij} W^h h_j + b

    Args:
        input_dim: width C of the nodes.
        head_dim: width D of one head.
        num_heads: number H of heads.
        join: `"concat"` for [N, H * D] (hidden layers) or `"mean"` for [N, D] (the paper's output layer).
        negative_slope: slope of the LeakyReLU for negative inputs.
        input_dropout: probability of dropping a channel of a node in training, independently per head.
        dropout: probability of dropping an edge's weight.
        value_dropout: probability of dropping a channel of a value W h_j, the same for all nodes that attend to it.
        bias: add b to the context.
        self_loops: let each node attend to itself as in the paper, whether or not the list contains such an edge.
        impl: name of the op's implementation; None to choose automatically.

    Parameters: `node_map` W [H * D, C], `weight_source` and `weight_target` [H, D], the halves of a, `bias` b. W and a
    have Glorot initialisation per head.
    Shapes: node [N, C], a tensor or `SparseRows`, edges [2, E] (source, target) -> context [N, H * D] or [N, D],
    weights [H, E'], E' the edges with the loops: `out.edges`. Edges are checked and sorted once per edge list, and
    layers share `Edges`. Hooks receive `out.dense()`, whose rows are computed lazily.

    Veličković et al. 2018, equations 1 to 6; see `regard.ops.graph_attention`. The nonlinearity is the model's.

    >>> layer = GraphAttention(input_dim=5, head_dim=3, num_heads=2)
    >>> out = layer(torch.randn(4, 5), torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> out.context.shape, out.weights().shape          # three edges and four loops
    (torch.Size([4, 6]), torch.Size([2, 7]))
    """

    def __init__(
        self,
        input_dim: int,
        head_dim: int,
        num_heads: int = 1,
        *,
        join: Join = "concat",
        negative_slope: float = 0.2,
        input_dropout: float = 0.0,
        dropout: float = 0.0,
        value_dropout: float = 0.0,
        bias: bool = True,
        self_loops: bool = True,
        impl: str | None = None,
    ) -> None:
        super().__init__()
        if join not in get_args(Join):
            raise ValueError(f"GraphAttention: heads are joined by {' or '.join(get_args(Join))}, not by {join!r}")
        self.num_heads = num_heads
        self.join = join
        self.negative_slope = negative_slope
        self.input_dropout = input_dropout
        self.dropout = dropout
        self.value_dropout = value_dropout
        self.known = KnownEdges(loops=self_loops)
        self.impl = impl
        self.node_map = nn.Linear(input_dim, num_heads * head_dim, bias=False)
        self.weight_source = nn.Parameter(_glorot((num_heads, head_dim), head_dim + 1))
        self.weight_target = nn.Parameter(_glorot((num_heads, head_dim), head_dim + 1))
        self.node_map.weight = nn.Parameter(_glorot((num_heads * head_dim, input_dim), input_dim + head_dim))
        width = head_dim if join == "mean" else num_heads * head_dim
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, node: Tensor | SparseRows, edges: Tensor | Edges) -> GraphAttended:
        """Attend along `edges` [2, E], (source, target): nodes [N, C] -> context [N, H * D] or [N, D]."""
        attended = graph_attention(
            self._mapped(node),
            self.known(edges, node.shape[0]),
            self.weight_source,
            self.weight_target,
            negative_slope=self.negative_slope,
            dropout=self.dropout if self.training else 0.0,
            value_dropout=self.value_dropout if self.training else 0.0,
            impl=self.impl,
        )
        context = attended.context.mean(1) if self.join == "mean" else attended.context.flatten(1)
        attended = attended.replace(context=context if self.bias is None else context + self.bias)
        self.show(attended.dense())
        return attended

    def _mapped(self, node: Tensor | SparseRows) -> Tensor:
        """Compute W h per head, [N, H, D]."""
        if self.training and self.input_dropout:
            check_width(self, node, self.node_map.in_features, "nodes")
            weights = self.node_map.weight.chunk(self.num_heads)
            return torch.stack([self._map(self._dropped(node), weight) for weight in weights], dim=1)  # [N, H, D]
        if isinstance(node, SparseRows):
            check_width(self, node, self.node_map.in_features, "nodes")
            found = self._map(node, self.node_map.weight)
        else:
            found = mapped(self, self.node_map, node, "nodes")
        return found.view(node.shape[0], self.num_heads, -1)

    def _dropped(self, node: Tensor | SparseRows) -> Tensor | SparseRows:
        share = self.input_dropout
        return node.dropout(share) if isinstance(node, SparseRows) else scaled_dropout(node, share)

    @staticmethod
    def _map(node: Tensor | SparseRows, weight: Tensor) -> Tensor:
        return node.map(weight) if isinstance(node, SparseRows) else nn.functional.linear(node, weight)

    def extra_repr(self) -> str:
        sizes = f"num_heads={self.num_heads}, join={self.join!r}, self_loops={self.known.loops}"
        shares = ", ".join(f"{name}={getattr(self, name)}" for name in ("input_dropout", "dropout", "value_dropout"))
        return f"{sizes}, {shares}"


def _glorot(shape: tuple[int, int], fans: int) -> Tensor:
    """Sample a uniform matrix with variance 2 / (fan in + fan out)."""
    bound: float = (6 / fans) ** 0.5
    return torch.empty(shape).uniform_(-bound, bound)
