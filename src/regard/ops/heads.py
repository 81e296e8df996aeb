"""Splitting and merging of attention heads (Vaswani et al. 2017)."""

from __future__ import annotations

from torch import Tensor

from regard.ops.card import Card

CARD = Card(
    name="multi_head",
    family="shape of use",
    equation="[head_1; ...; head_H] W_O,  head_h = attend(Q W_h^Q, K W_h^K, V W_h^V)",
    paper="Vaswani et al. 2017, sec. 3.2.2",
    cost="that of the score, H times at width D/H, and 2·(T + S)·C² for the maps",
    op="split_heads",
    module="MultiHead",
)


def split_heads(channels: Tensor, num_heads: int) -> Tensor:
    """Split channels into heads: [B, T, H * D] -> [B, H, T, D]; the first D channels are the first head.

    >>> import torch
    >>> split_heads(torch.arange(6.0).view(1, 1, 6), 2)[0]
    tensor([[[0., 1., 2.]],
            [[3., 4., 5.]]])
    """
    if num_heads == 1:
        return channels.unsqueeze(1)
    batch, length, width = channels.shape
    if width % num_heads:
        raise ValueError(f"{width} channels cannot be split among {num_heads} heads")
    return channels.view(batch, length, num_heads, width // num_heads).transpose(1, 2)  # [B, H, T, D]


def merge_heads(heads: Tensor) -> Tensor:
    """Invert `split_heads`: [B, H, T, D] -> [B, T, H * D]."""
    return heads.transpose(1, 2).flatten(2)  # [B, T, H * D]
