"""Learned positions (Gehring et al. 2017)."""

from __future__ import annotations

from torch import Tensor

from regard.ops.card import Card

CARD = Card(
    name="learned_positions",
    family="shape of use",
    equation="x_pos + P_pos,  P trained",
    paper="Gehring et al. 2017, sec. 3.1; Vaswani et al. 2017, table 3 (E)",
    cost="T·C additions",
    op="learned_positions",
    module="LearnedPositions",
)


def learned_positions(table: Tensor, length: int, start: int = 0) -> Tensor:
    r"""Return learned position vectors: rows `start` to `start + length` of a table.

    .. math:: PE_{pos} = P_{pos}

    Args:
        table: P [L, C], L the maximum sequence length.
        length: T, number of positions.
        start: first position, for a decoder with a cache.

    Returns:
        [T, C], a view of the table.

    Raises:
        ValueError: a position is past the end of the table.

    Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1. Vaswani et al. 2017, table 3 row
    (E), found them to do as well as sinusoids.

    >>> import torch
    >>> learned_positions(torch.tensor([[1.0], [2.0], [3.0]]), length=2, start=1)
    tensor([[2.],
            [3.]])
    """
    if table.dim() != 2:
        raise ValueError(f"learned_positions: table must be [L, C]; got shape {list(table.shape)}")
    if length < 0 or start < 0:
        raise ValueError(f"learned_positions: length and start must be at least 0; got {length} and {start}")
    if start + length > table.shape[0]:
        raise ValueError(
            f"learned_positions: a sequence that reaches position {start + length} does not fit a table for "
            f"{table.shape[0]}; build it with a larger max_length, or use sinusoidal positions"
        )
    return table[start : start + length]
