"""Words as vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.specials import PAD


class Words(nn.Module):
    """Embeddings with dropout; padding is the zero vector and stays it.

    Args:
        size: V, how many words.
        dim: width of a vector.
        dropout: probability of dropping a channel.

    Parameters: `table.weight` E [V, dim].

    >>> Words(11, 3)(torch.tensor([[5, 0]]))[0, 1]
    tensor([0., 0., 0.], grad_fn=...)
    """

    def __init__(self, size: int, dim: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if size < 1 or dim < 1:
            raise ValueError(f"embeddings need at least one word and one channel; got {size} words of width {dim}")
        self.table = nn.Embedding(size, dim, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        """[B, T] -> [B, T, dim]."""
        vectors: Tensor = self.dropout(self.table(ids))
        return vectors


class LockedDropout(nn.Module):
    """Dropout of the same channels at all steps of a sequence: x [B, T, C] -> [B, T, C]."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        return x * F.dropout(torch.ones_like(x[:, :1]), self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def output_layer(dim: int, words: Words, *, tied: bool) -> nn.Linear:
    """Features [..., dim] -> logits [..., V]; `tied` to the embeddings (Press & Wolf 2017; Inan et al. 2017)."""
    size, width = words.table.weight.shape
    layer = nn.Linear(dim, size)
    if tied:
        if width != dim:
            raise ValueError(
                f"tied embeddings need the output layer's input to be as wide as an embedding; got {dim} and {width}"
            )
        layer.weight = words.table.weight
    return layer
