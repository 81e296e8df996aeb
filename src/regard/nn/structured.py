"""Structured self-attention, and layers over its embedding matrix."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.attention_module import CapturableModule
from regard.nn.checks import positive
from regard.ops.attended import Attended
from regard.ops.checks import token_positions
from regard.ops.structured import structured_attention


class StructuredSelfAttention(CapturableModule):
    """Structured sentence embedding: r learned hops over the states, A = softmax(W₂ tanh(W₁ Hᵀ)), M = A H.

    Args:
        input_dim: width C of the states.
        hidden_dim: width A of the hidden layer (the paper's d_a).
        num_hops: number r of rows of the embedding.
        bias: add a bias to W₁, as Yang et al. 2016 do; Lin et al. have none.
        dropout: probability of dropping a weight in training; 0 in the paper.

    Parameters: `inner_map` W₁ [A, C], `outer_map` W₂ [r, A].
    Shapes: hidden [B, S, C] -> context [B, r, C], weights [B, r, S]. Flattening the context is the model's choice: the
    paper does, and averaging the rows instead is another model.

    Lin et al. 2017, section 2.1; see `regard.ops.structured_attention`, and `regard.ops.frobenius_penalty` for the
    term that keeps the hops apart.

    >>> import torch
    >>> from regard import Mask
    >>> attention = StructuredSelfAttention(input_dim=6, hidden_dim=5, num_hops=3)
    >>> out = attention(torch.randn(2, 7, 6), Mask.padding([7, 4]))
    >>> out.context.shape, out.weights().shape
    (torch.Size([2, 3, 6]), torch.Size([2, 3, 7]))
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, num_hops: int, *, bias: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner_map = nn.Linear(input_dim, hidden_dim, bias=bias)
        self.outer_map = nn.Linear(hidden_dim, num_hops, bias=False)

    def forward(self, hidden: Tensor, mask: Mask | None = None) -> Attended:
        """Attend to the states [B, S, C] of each sentence with r hops; `mask` marks present tokens."""
        dropout = self.dropout if self.training else 0.0
        tokens = (
            None if mask is None else Mask.keys(token_positions(hidden, mask))
        )  # the mask is over tokens: queries are hops, which have no positions
        inner, outer = self.inner_map, self.outer_map
        return self.show(
            structured_attention(hidden, inner.weight, outer.weight, tokens, bias=inner.bias, dropout=dropout)
        )


class PairFactors(nn.Module):
    r"""Relation of two texts: elementwise product of mapped rows of their embeddings.

    .. math:: F_i = (m_i W_i) \odot (m'_i W'_i)

    A product detects factors present in both texts, which a sum of two vectors cannot. Each row has its own maps.

    Args:
        rows: r.
        columns: C.
        factors: k, number of factors per row.

    Parameters: `first_map` W and `second_map` W' [r, C, k]; no biases. They are initialised uniformly in ±√(3 / C),
    which preserves the scale of a state: with small values, the product would scale down the gradients of both factors.
    Shapes: two of [B, r, C] -> [B, r, k].

    Lin et al. 2017, section 4.3, after the gated auto-encoder of Memisevic 2013, "Learning to Relate Images".

    >>> PairFactors(3, 5, factors=2)(torch.randn(7, 3, 5), torch.randn(7, 3, 5)).shape
    torch.Size([7, 3, 2])
    """

    def __init__(self, rows: int, columns: int, *, factors: int) -> None:
        super().__init__()
        positive("Factored", rows=rows, columns=columns, factors=factors)
        spread = (3 / columns) ** 0.5
        self.first_map = nn.Parameter(torch.empty(rows, columns, factors).uniform_(-spread, spread))
        self.second_map = nn.Parameter(torch.empty(rows, columns, factors).uniform_(-spread, spread))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        mine, yours = (
            torch.einsum("brc,rck->brk", rows, table)
            for rows, table in ((first, self.first_map), (second, self.second_map))
        )
        return mine * yours

    def extra_repr(self) -> str:
        rows, columns, factors = self.first_map.shape
        return f"{rows}, {columns}, factors={factors}"


class RowColumnLayer(nn.Module):
    r"""A hidden layer over a matrix M whose units see one row of it, or one column.

    .. math:: M^v_i = m_i V_i + b_i, \quad M^h_j = M_{\cdot j}^\top U_j + d_j

    A fully connected unit has r·C weights. Here a unit of M^v has C and a unit of M^h has r, r·C·(p + q) in total. Rows
    of an embedding are different reads of a sentence; a column is one state channel in all reads.

    Args:
        rows: r.
        columns: C.
        row_units: p, units of each row.
        column_units: q, units of each column.

    Parameters: `by_row` V [r, C, p], `by_column` U [C, r, q], `bias` [r·p + C·q].
    Shapes: [B, r, C] -> [B, r·p + C·q], rows first.

    Lin et al. 2017, appendix A.

    >>> RowColumnLayer(3, 5, row_units=2, column_units=1)(torch.randn(7, 3, 5)).shape
    torch.Size([7, 11])
    """

    def __init__(self, rows: int, columns: int, *, row_units: int, column_units: int) -> None:
        super().__init__()
        positive("Pruned", rows=rows, columns=columns, row_units=row_units, column_units=column_units)
        self.output_dim = rows * row_units + columns * column_units
        self.by_row = nn.Parameter(_begun(rows, columns, row_units))
        self.by_column = nn.Parameter(_begun(columns, rows, column_units))
        self.bias = nn.Parameter(torch.zeros(self.output_dim))

    def forward(self, matrix: Tensor) -> Tensor:
        along = torch.einsum("brc,rcp->brp", matrix, self.by_row)
        across = torch.einsum("brc,crq->bcq", matrix, self.by_column)
        return torch.cat((along.flatten(1), across.flatten(1)), dim=1) + self.bias

    def extra_repr(self) -> str:
        (rows, columns, row_units), column_units = self.by_row.shape, self.by_column.shape[2]
        return f"{rows}, {columns}, row_units={row_units}, column_units={column_units}"


def _begun(groups: int, inputs: int, units: int) -> Tensor:
    """Initialise the stacked weights of several layers, each as `nn.Linear` does."""
    return torch.empty(groups, inputs, units).uniform_(-(inputs**-0.5), inputs**-0.5)
