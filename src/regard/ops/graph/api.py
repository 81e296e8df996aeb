"""Graph attention (Veličković et al. 2018)."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from regard.ops.card import Card
from regard.ops.checks import check_impl
from regard.ops.dropout import scaled_dropout
from regard.ops.graph import fused, reference, sparse
from regard.ops.graph.attended import GraphAttended
from regard.ops.graph.edges import Edges
from regard.ops.kernels import kernels_supported
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="graph",
    family="whole matrix",
    equation="e_ij = LeakyReLU(a_dstᵀ W h_i + a_srcᵀ W h_j),  h'_i = Σ_{j ∈ N(i)} α_ij W h_j",
    paper="Veličković et al. 2018, eq. 1-4",
    cost="N·D + E·D",
    op="graph_attention",
    module="GraphAttention",
    implementations=("reference", "sparse"),
    kernels=("fused",),
)


def graph_attention(
    node: Tensor,
    edges: Tensor | Edges,
    weight_source: Tensor,
    weight_target: Tensor,
    *,
    negative_slope: float = 0.2,
    dropout: float = 0.0,
    value_dropout: float = 0.0,
    impl: str | None = None,
) -> GraphAttended:
    r"""Each node reads its neighbours: additive attention whose mask is a graph.

    .. math:: e_{ij} = \mathrm{LeakyReLU}\bigl(a^\top [W h_i \,\Vert\, W h_j]\bigr), \quad
              \alpha_{ij} = \frac{\exp e_{ij}}{\sum_{j' \in N(i)} \exp e_{ij'}}, \quad
              h'_i = \sum_{j \in N(i)} \alpha_{ij} W h_j

    The vector a is kept in its two halves, so that a node is scored once as target (i) and once as source (j), and an
    edge only adds the two: aᵀ [W h_i ‖ W h_j] = a_dstᵀ W h_i + a_srcᵀ W h_j.

    Args:
        node: [N, H, D], W h: the nodes, already mapped.
        edges: [2, E] integers, (source j, target i): i reads j. In any order; an edge that is given twice counts
            twice. The paper's N(i) holds i itself: see `add_self_loops`. Whoever reads a graph more than once gives
            `Edges`, which are checked and sorted once.
        weight_source: [H, D], a_src.
        weight_target: [H, D], a_dst.
        negative_slope: of the LeakyReLU.
        dropout: probability of dropping an edge's weight on its way to the context; `weights()` shows them undropped.
        value_dropout: probability of dropping a channel of W h_j on its way to the contexts, for all who read it; the
            energies see it whole.
        impl: `"reference"` (the definition, builds [H, N, N]), `"sparse"` (works on the edge list, builds [E, H, D]),
            `"fused"` (kernels over sorted edges on a GPU, builds [E, H]; gradients but none of gradients) or None to
            choose: fused where it runs, else sparse.

    Returns:
        GraphAttended with context [N, H, D]. A node without incoming edges has a zero context.

    Raises:
        ValueError: shapes that do not fit, or an edge to a node that is not there.

    Veličković et al. 2018, "Graph Attention Networks", equations 1 to 4. Dropout on the nodes and the nonlinearity
    behind are the model's.

    >>> node, edges = torch.tensor([[[0.0]], [[1.0]]]), torch.tensor([[0, 1], [0, 0]])
    >>> graph_attention(node, edges, torch.tensor([[1.0]]), torch.tensor([[0.0]])).weights()   # energies 0 and 1
    tensor([[0.27, 0.73]])
    """
    check_impl("graph", CARD.names, impl)
    _check(node, weight_source, weight_target)
    edges = _edges(edges, node)
    method = impl or _method(node)
    states = node.to(statistics_dtype(node.dtype))
    as_source = (states * weight_source.to(states.dtype)).sum(2)  # [n, h]
    as_target = (states * weight_target.to(states.dtype)).sum(2)
    if method == "fused":
        kept = (
            scaled_dropout(torch.ones_like(as_source[:1]).expand(edges.given.shape[1], -1), dropout)
            if dropout
            else None
        )
        context = fused.read(as_source, as_target, scaled_dropout(node, value_dropout), kept, edges, negative_slope)
        weigh = partial(sparse.weigh, as_source, as_target, edges.given, negative_slope)
    else:
        way = reference if method == "reference" else sparse
        weights = way.weigh(as_source, as_target, edges.given, negative_slope)
        context = way.read(scaled_dropout(weights, dropout), scaled_dropout(states, value_dropout), edges.given).to(
            node.dtype
        )
        weigh = partial(_held, weights)
    return GraphAttended(context, edges.given, weigh, *node.shape[:2], impl=method)


def _held(weights: Tensor) -> Tensor:
    return weights


def _method(node: Tensor) -> str:
    return "fused" if node.shape[2] <= fused.WIDEST and kernels_supported(node) else "sparse"


def _edges(edges: Tensor | Edges, node: Tensor) -> Edges:
    if not isinstance(edges, Edges):
        return Edges(edges, node.shape[0])
    if edges.num_nodes != node.shape[0]:
        raise ValueError(f"graph: the edges are of {edges.num_nodes} nodes; got {node.shape[0]} nodes")
    return edges


def _check(node: Tensor, weight_source: Tensor, weight_target: Tensor) -> None:
    if node.dim() != 3:
        raise ValueError(f"graph: node must be [N, H, D]; got shape {list(node.shape)}")
    for name, weight in (("weight_source", weight_source), ("weight_target", weight_target)):
        if weight.shape != node.shape[1:]:
            raise ValueError(f"graph: {name} must be [H, D] = {list(node.shape[1:])}; got {list(weight.shape)}")
