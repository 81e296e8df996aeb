"""Read, erase and add operations of a Neural Turing Machine's memory (Graves, Wayne & Danihelka 2014)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.ops.card import Card
from regard.ops.softmax import full_precision, statistics_dtype

CARD = Card(
    name="ntm_memory",
    family="memory",
    equation="M_i ← M_i ⊙ (1 - w(i) e) + w(i) a",
    paper="Graves, Wayne & Danihelka 2014, eq. 2-4",
    cost="N·M for each head to read, 3·N·M to write; N rows of width M",
    op="ntm_write",
    module="NTMHeads",
)


def ntm_read(memory: Tensor, weights: Tensor) -> Tensor:
    r"""Read by heads: r_h = Σ_i w_h(i) M_i.

    Args:
        memory: [B, N, M].
        weights: [B, H, N].

    Returns:
        [B, H, M], in the dtype of `memory`.

    Graves, Wayne & Danihelka 2014, equation 2.

    >>> ntm_read(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), torch.tensor([[[0.5, 0.5]]]))
    tensor([[[2., 4.]]])
    """
    _check_weights(memory, weights)
    return (weights @ memory.to(weights.dtype)).to(memory.dtype)


def ntm_write(memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    r"""The memory after all heads have erased, then all have added.

    .. math:: M'_i = M_i \odot \prod_h (1 - w_h(i)\, e_h) + \sum_h w_h(i)\, a_h

    All products are element-wise, and erasing comes first, so that the order of the heads does not matter.

    Args:
        memory: [B, N, M].
        weights: [B, H, N], each head's weighting of the rows.
        erase: [B, H, M], e in (0, 1).
        add: [B, H, M], a.

    Returns:
        [B, N, M], in the dtype of `memory`, which is left as it was.

    Graves, Wayne & Danihelka 2014, equations 3 and 4 and the remark after each on several heads.

    >>> rows, second = torch.ones(1, 2, 2), torch.tensor([[[0.0, 1.0]]])
    >>> ntm_write(rows, second, erase=torch.tensor([[[1.0, 0.0]]]), add=torch.tensor([[[5.0, 5.0]]]))
    tensor([[[1., 1.],
             [5., 6.]]])
    """
    _check_weights(memory, weights)
    wanted = (*weights.shape[:2], memory.shape[2])
    if erase.shape != wanted or add.shape != wanted:
        raise ValueError(
            f"ntm_memory: erase and add must be [B, H, M] = {list(wanted)}; "
            f"got {list(erase.shape)} and {list(add.shape)}"
        )
    rows, weights, erase, add = (part.to(statistics_dtype(part.dtype)) for part in (memory, weights, erase, add))
    gone = weights.unsqueeze(3) * erase.unsqueeze(2)  # [B, H, N, M]
    for part in gone.unbind(1):  # not torch.prod, which synchronises with the device
        rows = rows.addcmul(rows, part, value=-1)
    with full_precision(rows):
        return torch.baddbmm(rows, weights.mT, add).to(memory.dtype)


def _check_weights(memory: Tensor, weights: Tensor) -> None:
    """memory [B, N, M], weights [B, H, N]."""
    if memory.dim() != 3 or weights.dim() != 3 or memory.shape[:2] != (weights.shape[0], weights.shape[2]):
        raise ValueError(
            f"ntm_memory: memory [B, N, M] and weights [B, H, N] must share B and N; "
            f"got {list(memory.shape)} and {list(weights.shape)}"
        )
