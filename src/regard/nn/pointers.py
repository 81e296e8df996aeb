"""Pointers into a text: attention over attention, and the pointer sentinel mixture."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.attention_module import CapturableModule
from regard.nn.checks import mapped
from regard.ops.attention_over_attention import AttendedOver, attention_over_attention
from regard.ops.pointer_sentinel import PointerMixture, pointer_sentinel
from regard.ops.pointer_sum import pointer_candidates


class AttentionOverAttention(CapturableModule):
    """Attention-over-attention reader: attention of query words to the document, averaged by attention to the query.

    It has no parameters. `forward` returns s, a distribution over document positions, and `candidates` the
    probabilities of words: P(w) = Σ_{i: d_i = w} s_i.

    Shapes: document [B, D, C], query [B, Q, C] -> weights [B, D]. Hooks receive the read of the document with s.

    Cui et al. 2017, section 3; see `regard.ops.attention_over_attention` and `regard.ops.pointer_sum`.

    >>> import torch
    >>> from regard import Mask
    >>> reader = AttentionOverAttention()
    >>> ids = torch.tensor([[3, 8, 3, 5]])
    >>> out = reader(torch.zeros(1, 4, 6), torch.zeros(1, 2, 6), Mask.padding([3]))
    >>> reader.candidates(out.weights, ids, torch.tensor([[3, 8, 5]]))       # two positions of three; 5 is padding
    tensor([[0.667, 0.333, 0.000]])
    """

    def forward(
        self,
        document: Tensor,
        query: Tensor,
        document_mask: Mask | None = None,
        query_mask: Mask | None = None,
    ) -> AttendedOver:
        """Attend to document [B, D, C] with query [B, Q, C]; the masks mark present words."""
        out = attention_over_attention(document, query, document_mask, query_mask)
        self.show(out.attended)
        return out

    def candidates(self, weights: Tensor, ids: Tensor, candidates: Tensor) -> Tensor:
        """P(candidate) [B, K] of words `candidates` [B, K], from s [B, D] and the document's words `ids` [B, D]."""
        return pointer_candidates(weights, ids, candidates)


class PointerSentinel(CapturableModule):
    r"""Pointer sentinel mixture: a pointer over past states, with a sentinel as the weight of the vocabulary.

    .. math:: q_t = \tanh(W h_t + b), \quad [a_t; g_t] = \mathrm{softmax}([q_t^\top h_1, \dots;\; q_t^\top s]), \quad
              p_t(w) = g_t\, p_\mathrm{vocab}(w) + \sum_{i\,:\,w_i = w} a_{ti}

    Args:
        dim: width C of the states.

    Parameters: `query_map` W and b, `sentinel` s [C].
    Shapes: hidden [B, T, C], memory [B, S, C], ids [B, S], vocab_log_probs [B, T, V] -> log_probs [B, T, V].

    The module is stateless: a language model passes the states and words of the window itself, also across the
    boundaries of its training windows, as the paper does.

    Merity et al. 2017, section 2; see `regard.ops.pointer_sentinel`.

    >>> from regard import Mask
    >>> pointer = PointerSentinel(dim=5)
    >>> hidden, ids, vocab = torch.randn(2, 7, 5), torch.randint(11, (2, 7)), torch.randn(2, 7, 11).log_softmax(-1)
    >>> out = pointer(hidden, hidden, ids, vocab, Mask.window(3))            # each state sees the last three
    >>> out.log_probs.shape, out.attended.weights().shape, out.gate.shape
    (torch.Size([2, 7, 11]), torch.Size([2, 7, 7]), torch.Size([2, 7]))
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query_map = nn.Linear(dim, dim)
        self.sentinel = nn.Parameter(torch.empty(dim))
        nn.init.normal_(self.sentinel, std=dim**-0.5)

    def forward(
        self, hidden: Tensor, memory: Tensor, ids: Tensor, vocab_log_probs: Tensor, mask: Mask | None = None
    ) -> PointerMixture:
        """Mix the vocabulary with the words seen.

        Args:
            hidden: [B, T, C], the states h_t that predict.
            memory: [B, S, C], the states to point at.
            ids: [B, S], the input word of each of these states.
            vocab_log_probs: [B, T, V].
            mask: what may be pointed at; None for everything.
        """
        query: Tensor = torch.tanh(mapped(self, self.query_map, hidden, "states"))
        out = pointer_sentinel(query, memory, self.sentinel, ids, vocab_log_probs, mask)
        self.show(out.attended)
        return out
