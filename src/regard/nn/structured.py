"""Structured self-attention."""

from __future__ import annotations

from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.reader import Watched
from regard.ops.attended import Attended
from regard.ops.checks import present
from regard.ops.structured import structured_attention


class StructuredSelfAttention(Watched):
    """Lin's sentence embedding: r learned hops over the states of a sentence, A = softmax(W₂ tanh(W₁ Hᵀ)), M = A H.

    Args:
        input_dim: width C of the states.
        hidden_dim: width A of the hidden layer (the paper's d_a).
        num_hops: how many rows r the embedding has.
        dropout: probability of dropping a weight in training; the paper drops none.

    Parameters: `inner_map` W₁ [A, C], `outer_map` W₂ [r, A]; no biases.
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

    def __init__(self, input_dim: int, hidden_dim: int, num_hops: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner_map = nn.Linear(input_dim, hidden_dim, bias=False)
        self.outer_map = nn.Linear(hidden_dim, num_hops, bias=False)

    def forward(self, hidden: Tensor, mask: Mask | None = None) -> Attended:
        """Read the states [B, S, C] of each sentence r times; `mask` says which tokens are there."""
        dropout = self.dropout if self.training else 0.0
        tokens = (
            None if mask is None else Mask.keys(present(hidden, mask))
        )  # hops are no places: a mask speaks of tokens
        return self.show(
            structured_attention(hidden, self.inner_map.weight, self.outer_map.weight, tokens, dropout=dropout)
        )
