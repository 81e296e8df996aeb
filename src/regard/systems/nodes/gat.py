"""Graph attention networks (GAT) for node classification."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Share, Size, checked
from regard.models.model_output import ModelOutput
from regard.nn.graph import GraphAttention
from regard.nn.sparse_rows import SparseRows
from regard.ops.graph import GraphAttended, KnownEdges


class GraphTrace(NamedTuple):
    """Outputs of a network, and the attention of each layer.

    Attributes:
        logits: [N, classes].
        reads: attention of each layer, from first to last, all over the same edges.
    """

    logits: Tensor
    reads: tuple[GraphAttended, ...]


class GAT(nn.Module):
    r"""Graph attention network: in each of L layers, a node attends to its neighbours and itself.

    .. math:: h^{l+1}_i = \Big\Vert_{k=1}^{H} \mathrm{ELU}\Big(\sum_{j \in N(i) \cup \{i\}}
              \alpha^{lk}_{ij} W^{lk} h^l_j + b^{lk}\Big), \quad
              \text{logits}_i = \frac{1}{H'} \sum_{k=1}^{H'} \sum_j \alpha^{Lk}_{ij} W^{Lk} h^{L-1}_j + b

    In training, dropout with one probability applies to the inputs of each layer, separately per head, to the weights
    α, and to the values W h.

    Args:
        input_dim: number C of features per node.
        num_classes: number of labels.
        hidden_dim: width of one head.
        num_heads: number H of heads of each hidden layer, concatenated.
        output_heads: number H' of heads of the last layer, averaged.
        num_layers: number L of layers.
        residual: add the input of each layer between the first and the last to its output, as the paper does for unseen
            graphs (section 3.3, three layers). It is added after the ELU: h + ELU(context). The authors' code adds it
            before, ELU(context + W h + b) with one map per head, and omits it where widths are equal.
        dropout: dropout of features and hidden states, of attention weights, and of the values.
        negative_slope: slope of the LeakyReLU of the energies below 0.

    Shapes: features [N, C], a tensor or `SparseRows`; edges [2, E] (source, target: the target attends to the source),
    with or without self-loops -> logits [N, classes].

    Veličković, Cucurull, Casanova, Romero, Liò & Bengio 2018, "Graph Attention Networks", section 3.3. The defaults are
    its network for Cora and Citeseer; see `regard.nn.GraphAttention`. The paper describes dropout of inputs and
    weights; dropout of the values, and separate masks per head, follow the authors' code.

    >>> import torch
    >>> model = GAT(7, 3).eval()
    >>> model(torch.randn(5, 7), torch.tensor([[0, 1, 2], [1, 2, 1]])).logits.shape       # nodes 3 and 4 have no edge
    torch.Size([5, 3])
    """

    @checked()
    def __init__(
        self,
        input_dim: int,
        num_classes: int,
        *,
        hidden_dim: Size = 8,
        num_heads: Size = 8,
        output_heads: Size = 1,
        num_layers: Size = 2,
        residual: bool = False,
        dropout: Share = 0.6,
        negative_slope: float = 0.2,
    ) -> None:
        super().__init__()
        self.residual = residual
        self.known = KnownEdges(loops=True)
        width = hidden_dim * num_heads
        self.layers = nn.ModuleList(
            GraphAttention(
                input_dim if number == 0 else width,
                hidden_dim,
                num_heads,
                input_dropout=dropout,
                dropout=dropout,
                value_dropout=dropout,
                negative_slope=negative_slope,
                self_loops=False,
            )
            for number in range(num_layers - 1)
        )
        self.output = GraphAttention(
            width if num_layers > 1 else input_dim,
            num_classes,
            output_heads,
            join="mean",
            input_dropout=dropout,
            dropout=dropout,
            value_dropout=dropout,
            negative_slope=negative_slope,
            self_loops=False,
        )

    def forward(self, features: Tensor | SparseRows, edges: Tensor) -> ModelOutput:
        """Features [N, C] and edges [2, E] -> logits [N, classes]."""
        return ModelOutput(self.trace(features, edges).logits)

    def trace(self, features: Tensor | SparseRows, edges: Tensor) -> GraphTrace:
        """Return the logits and the attention of each layer, all over the edges with a self-loop per node."""
        shared = self.known(edges, features.shape[0])  # sorted once with loops, and reused by all layers
        reads: list[GraphAttended] = []
        state: Tensor | SparseRows = features
        for layer in self.layers:
            reads.append(layer(state, shared))
            found = F.elu(reads[-1].context)  # [N, H * D]
            state = found + state if self.residual and len(reads) > 1 and isinstance(state, Tensor) else found
        reads.append(self.output(state, shared))
        return GraphTrace(reads[-1].context, tuple(reads))
