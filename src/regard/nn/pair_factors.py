"""Two matrices compared row by row."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.checks import positive


class Factored(nn.Module):
    r"""How two texts relate: each row of their embeddings as factors, multiplied.

    .. math:: F_i = (m_i W_i) \odot (m'_i W'_i)

    A product says whether both have a factor, which no sum of two vectors does. Each row has maps of its own.

    Args:
        rows: r.
        columns: C.
        factors: k, how many of each row.

    Parameters: `first_map` W and `second_map` W' [r, C, k]; no biases. They begin even in ±√(3 / C), which keeps the
    size of a state: a product of two small numbers would hide both from each other's gradient.
    Shapes: two of [B, r, C] -> [B, r, k].

    Lin et al. 2017, section 4.3, after the gated auto-encoder of Memisevic 2013, "Learning to Relate Images".

    >>> Factored(3, 5, factors=2)(torch.randn(7, 3, 5), torch.randn(7, 3, 5)).shape
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
