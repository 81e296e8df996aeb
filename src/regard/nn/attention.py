"""Single-head attention."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligner
from regard.nn.attention_module import AttentionModule
from regard.nn.scores.base import Score


class Attention(AttentionModule):
    """Single-head attention with any score and any aligner; values are not projected.

        e_ts = score(query_t, key_s)      a_t = align(e_t)      c_t = sum_s a_ts value_s

    Args:
        score: score of a query and a key, for example `Additive(...)`, with one head (`MultiHead` takes more).
        align: aligner that turns energies into weights; None for `Softmax()`.
        dropout: probability of dropping a weight in training.
        impl: name of the score's implementation; None to choose automatically.

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
