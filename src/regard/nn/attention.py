"""Attention with one head."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligner
from regard.nn.attention_module import AttentionModule
from regard.nn.scores.base import Score


class Attention(AttentionModule):
    """A query reads a memory: any score, any aligner, the values as they are.

        e_ts = score(query_t, key_s)      a_t = align(e_t)      c_t = sum_s a_ts value_s

    Args:
        score: how well a query and a key match, for example `Additive(...)`; one head (`MultiHead` takes more).
        align: how energies become weights; None for `Softmax()`.
        dropout: probability of dropping a weight in training.
        impl: the score's implementation by name; None to let it choose.

    Shapes: query [B, T, Cq], key [B, S, Ck], value [B, S, Cv] -> context [B, T, Cv], weights [B, T, S].

    >>> import torch
    >>> from regard import Mask
    >>> from regard.nn import Additive
    >>> attention = Attention(Additive(query_dim=3, key_dim=5, hidden_dim=7))
    >>> states = torch.randn(2, 11, 5)
    >>> out = attention(torch.randn(2, 13, 3), states, mask=Mask.padding([11, 4]))
    >>> out.context.shape, out.weights().shape
    (torch.Size([2, 13, 5]), torch.Size([2, 13, 11]))
    >>> memory = attention.remember(states)             # keys are projected once
    >>> out = attention.read(torch.randn(2, 1, 3), memory)
    >>> out = attention.read(torch.randn(2, 1, 3), memory, out.state)
    >>> out.state.step
    2
    """

    _has_heads = False

    def __init__(
        self, score: Score, align: Aligner | None = None, *, dropout: float = 0.0, impl: str | None = None
    ) -> None:
        super().__init__(score, align, dropout=dropout, impl=impl)
        if score.num_heads != 1:
            raise ValueError(f"Attention has one head, but its score has {score.num_heads}: use MultiHead")

    def _values(self, value: Tensor) -> Tensor:
        return value.unsqueeze(1)

    def _contexts(self, context: Tensor) -> Tensor:
        return context.squeeze(1)
