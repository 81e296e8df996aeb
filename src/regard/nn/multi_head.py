"""Multi-head attention with any score."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.aligners.base import Aligner
from regard.nn.attention_module import AttentionModule
from regard.nn.checks import check_width, mapped, positive
from regard.nn.scores.base import Score
from regard.ops.heads import merge_heads, split_heads


class MultiHead(AttentionModule):
    r"""Multi-head attention: parallel reads, each with its own score, and concatenated contexts.

    .. math:: \mathrm{head}_h = \mathrm{attend}(Q, K, V W^V_h), \quad [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W^O

    The score defines the heads (`ScaledDot(512, 512, hidden_dim=64, num_heads=8)` holds W^Q and W^K), so
    *any* score can be multi-head: additive and cosine too.

    Args:
        score: score of all heads.
        align: aligner that turns energies into weights; None for `Softmax()`.
        value_dim: width of the values; required with `head_dim`, which maps them to H vectors.
        head_dim: width of one head's values; None to use the unprojected values in every head.
        output_dim: width of the context; None for the concatenated contexts of the heads.
        bias: add biases to W^V and W^O.
        dropout: probability of dropping a weight in training.
        impl: name of the score's implementation; None to choose automatically.

    Shapes: query [B, T, Cq], key [B, S, Ck], value [B, S, Cv] -> context [B, T, output_dim], weights [B, H, T, S].

    Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2.

    >>> import torch
    >>> from regard.nn import Additive
    >>> attention = MultiHead(Additive(6, 6, hidden_dim=5, num_heads=3), value_dim=6, head_dim=2, output_dim=6)
    >>> out = attention(torch.randn(2, 7, 6))           # self-attention: the query is key and value too
    >>> out.context.shape, out.weights().shape
    (torch.Size([2, 7, 6]), torch.Size([2, 3, 7, 7]))
    """

    _has_heads = True

    def __init__(
        self,
        score: Score,
        align: Aligner | None = None,
        *,
        value_dim: int,
        head_dim: int | None = None,
        output_dim: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        impl: str | None = None,
    ) -> None:
        super().__init__(score, align, dropout=dropout, impl=impl)
        positive("MultiHead", value_dim=value_dim, head_dim=head_dim, output_dim=output_dim)
        heads = score.num_heads
        self.value_dim = value_dim
        self.value_map = None if head_dim is None else nn.Linear(value_dim, heads * head_dim, bias=bias)
        joined = heads * (value_dim if head_dim is None else head_dim)
        self.output_map = None if output_dim is None else nn.Linear(joined, output_dim, bias=bias)

    def _values(self, value: Tensor) -> Tensor:
        if self.value_map is None:
            check_width(self, value, self.value_dim, "values")
            return value.unsqueeze(1).expand(-1, self.score.num_heads, -1, -1)
        return split_heads(mapped(self, self.value_map, value, "values"), self.score.num_heads)

    def _contexts(self, context: Tensor) -> Tensor:
        joined = merge_heads(context)
        return joined if self.output_map is None else self.output_map(joined)
