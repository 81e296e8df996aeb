"""Graph attention (Veličković et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl
from regard.ops.dropout import dropped
from regard.ops.softmax import masked_softmax, statistics_dtype
from regard.ops.weights import TopK, entropy
from regard.recording import is_recording

CARD = Card(
    name="graph",
    family="whole matrix",
    equation="e_ij = LeakyReLU(a_dstᵀ W h_i + a_srcᵀ W h_j),  h'_i = Σ_{j ∈ N(i)} α_ij W h_j",
    paper="Veličković et al. 2018, eq. 1-4",
    cost="N·D + E·D",
    op="graph_attention",
    module="GraphAttention",
    implementations=("reference", "sparse"),
)


@dataclass(init=False, eq=False, repr=False)  # so that what spreads a model over devices finds the tensors inside
class GraphAttended:
    """The outcome of a read along edges: `Attended` for a graph, where a node reads its neighbours and nobody else.

    Attributes:
        context: [N, H, D] from the op, [N, C] from the module.
        edges: [2, E], (source, target) of each edge that was read, in the order of `weights()`.

    >>> node, edges = torch.tensor([[[0.0]], [[2.0]], [[4.0]]]), torch.tensor([[0, 2], [1, 1]])
    >>> out = graph_attention(node, edges, torch.zeros(1, 1), torch.zeros(1, 1))
    >>> out.weights(), out.context.flatten()            # node 1 reads 0 and 2; nobody writes to these
    (tensor([[0.5, 0.5]]), tensor([0., 2., 0.]))
    >>> out.alignment()
    tensor([[-1,  0, -1]])
    """

    context: Tensor
    edges: Tensor

    def __init__(self, context: Tensor, edges: Tensor, weights: Tensor, num_nodes: int) -> None:
        self.context = context
        self.edges = edges
        self._weights = weights
        self._num_nodes = num_nodes

    def replace(self, *, context: Tensor) -> GraphAttended:
        """The same read with its context laid out anew."""
        return GraphAttended(context, self.edges, self._weights, self._num_nodes)

    def weights(self) -> Tensor:
        """α of each edge, [H, E]. Differentiable; those of a target sum to one."""
        return self._weights

    def topk(self, k: int) -> TopK:
        """The k largest weights of each node and the nodes it reads with them, [H, N, k]; past its edges 0 and -1."""
        if k < 1:
            raise ValueError(f"topk({k}): a node has at least one largest weight")
        heads, (source, target) = self._weights.shape[0], self.edges
        falling = self._weights.argsort(dim=1, descending=True, stable=True)
        order = falling.gather(1, target[falling].argsort(dim=1, stable=True))  # by target, then largest first
        degree = target.bincount(minlength=self._num_nodes)
        place = torch.arange(len(target), device=target.device) - (degree.cumsum(0) - degree)[target[order]]
        head, edge = (place < k).nonzero(as_tuple=True)
        chosen = order[head, edge]
        slot = (head, target[chosen], place[head, edge])
        weights = self._weights.new_zeros(heads, self._num_nodes, k)
        nodes = source.new_full((heads, self._num_nodes, k), -1)
        return TopK(weights.index_put(slot, self._weights[head, chosen]), nodes.index_put(slot, source[chosen]))

    def entropy(self) -> Tensor:
        """-Σ_j α_ij log α_ij of each node in nats, [H, N]: 0 reads one neighbour (or none), log |N(i)| all alike."""
        return self._sum(entropy(self._weights.unsqueeze(2)), self.edges[1])

    def alignment(self) -> Tensor:
        """The neighbour that each node reads most, [H, N]; -1 for a node without any."""
        return self.topk(1).keys.squeeze(2)

    def coverage(self) -> Tensor:
        """How much each node is read by all others, Σ_i α_ij: [H, N]."""
        return self._sum(self._weights, self.edges[0])

    def dense(self) -> Attended:
        """The same read as a matrix of all pairs, weights [1, H, N, N]: rows are made when they are asked for."""
        heads, (source, target) = self._weights.shape[0], self.edges

        def weigh(head: Tensor, row: Tensor) -> Tensor:
            place, edge = (row.unsqueeze(1) == target).nonzero(as_tuple=True)
            rows = self._weights.new_zeros(len(row), self._num_nodes, len(head))
            chosen = self._weights.index_select(0, head)[:, edge].T
            return rows.index_put((place, source[edge]), chosen, accumulate=True).permute(2, 0, 1).unsqueeze(0)

        return Attended(self.context, weigh, (1, heads, self._num_nodes, self._num_nodes))

    def _sum(self, per_edge: Tensor, node: Tensor) -> Tensor:
        return per_edge.new_zeros(per_edge.shape[0], self._num_nodes).index_add(1, node, per_edge)

    def __repr__(self) -> str:
        return f"GraphAttended(context={list(self.context.shape)}, weights={list(self._weights.shape)})"


def graph_attention(
    node: Tensor,
    edges: Tensor,
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
            twice. The paper's N(i) holds i itself: see `add_self_loops`.
        weight_source: [H, D], a_src.
        weight_target: [H, D], a_dst.
        negative_slope: of the LeakyReLU.
        dropout: probability of dropping an edge's weight on its way to the context; `weights()` shows them undropped.
        value_dropout: probability of dropping a channel of W h_j on its way to the contexts, for all who read it; the
            energies see it whole.
        impl: `"reference"` (the definition, builds [H, N, N]), `"sparse"` (works on the edge list, builds [E, H, D])
            or None to choose: sparse.

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
    check_impl("graph", CARD.implementations, impl)
    _check(node, edges, weight_source, weight_target)
    states = node.to(statistics_dtype(node.dtype))
    as_source = (states * weight_source.to(states.dtype)).sum(2)  # [n, h]
    as_target = (states * weight_target.to(states.dtype)).sum(2)
    edges = edges.long()
    source, target = edges
    value = dropped(states, value_dropout)
    if impl == "reference":
        energy = F.leaky_relu(as_target.unsqueeze(1) + as_source, negative_slope)  # [i, j, h]
        weights = _dense_softmax(energy, source, target)
        context = _dense_sum(dropped(weights, dropout), value, source, target)
    else:
        energy = as_target.index_select(0, target) + as_source.index_select(0, source)  # [e, h]
        weights = _segment_softmax(F.leaky_relu(energy, negative_slope), target, node.shape[0])
        message = dropped(weights, dropout).unsqueeze(2) * value.index_select(0, source)
        context = torch.zeros_like(states).index_add(0, target, message)
    return GraphAttended(context.to(node.dtype), edges, weights.T, node.shape[0])


def add_self_loops(edges: Tensor, num_nodes: int) -> Tensor:
    """The edges [2, E] with a loop on each node, once, also where there was one: [2, E'], loops last.

    >>> add_self_loops(torch.tensor([[0, 1, 1], [1, 1, 1]]), 3)
    tensor([[0, 0, 1, 2],
            [1, 0, 1, 2]])
    """
    between = edges[:, edges[0] != edges[1]]
    loops = torch.arange(num_nodes, dtype=edges.dtype, device=edges.device).expand(2, -1)
    return torch.cat((between, loops), dim=1)


def _segment_softmax(energy: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    """Softmax of [E, H] among the edges with the same target, each with its own maximum taken off."""
    nobody = energy.new_full((num_nodes, energy.shape[1]), -torch.inf)
    index = target.unsqueeze(1).expand_as(energy)
    highest = nobody.scatter_reduce(0, index, energy.detach(), "amax")
    exp = torch.exp(energy - highest.index_select(0, target))
    total = torch.zeros_like(nobody).index_add(0, target, exp)
    return exp / total.index_select(0, target)


def _dense_softmax(energy: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """The same from the energies of all pairs [i, j, h]: c edges between two nodes weigh as much as energy + log c."""
    count = energy.new_zeros(energy.shape[:2]).index_put((target, source), energy.new_ones(()), accumulate=True)
    weights = masked_softmax(energy.permute(2, 0, 1).unsqueeze(0) + count.log()).squeeze(0)  # [h, i, j]
    return (weights / count.clamp(min=1))[:, target, source].T.contiguous()


def _dense_sum(weights: Tensor, value: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Σ_j α_ij W h_j with α as a matrix."""
    nodes, heads, _ = value.shape
    matrix = weights.new_zeros(nodes, nodes, heads).index_put((target, source), weights, accumulate=True)
    return torch.einsum("ijh,jhd->ihd", matrix, value)


def _check(node: Tensor, edges: Tensor, weight_source: Tensor, weight_target: Tensor) -> None:
    if node.dim() != 3:
        raise ValueError(f"graph: node must be [N, H, D]; got shape {list(node.shape)}")
    for name, weight in (("weight_source", weight_source), ("weight_target", weight_target)):
        if weight.shape != node.shape[1:]:
            raise ValueError(f"graph: {name} must be [H, D] = {list(node.shape[1:])}; got {list(weight.shape)}")
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.dtype not in (torch.int32, torch.int64):
        raise ValueError(
            "graph: edges must be integers [2, E], sources above targets; "
            f"got {edges.dtype} of shape {list(edges.shape)}"
        )
    if edges.numel() and not is_recording():
        least, largest = torch.stack(torch.aminmax(edges)).tolist()
        if not 0 <= least <= largest < node.shape[0]:
            raise ValueError(
                f"graph: edges run from node {least} to node {largest}, but nodes are numbered 0 to {node.shape[0] - 1}"
            )
