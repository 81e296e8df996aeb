"""The pointer sentinel mixture."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.checks import mapped
from regard.nn.reader import Watched
from regard.ops.pointer_sentinel import Pointed, pointer_sentinel


class PointerSentinel(Watched):
    r"""Merity's pointer over the last states, with a sentinel that says how much to trust the vocabulary.

    .. math:: q_t = \tanh(W h_t + b), \quad [a_t; g_t] = \mathrm{softmax}([q_t^\top h_1, \dots;\; q_t^\top s]), \quad
              p_t(w) = g_t\, p_\mathrm{vocab}(w) + \sum_{i\,:\,w_i = w} a_{ti}

    Args:
        dim: width C of the states.

    Parameters: `query_map` W and b, `sentinel` s [C].
    Shapes: hidden [B, T, C], memory [B, S, C], ids [B, S], vocab_log_probs [B, T, V] -> log_probs [B, T, V].

    Nothing is kept between calls: a language model passes the states and words of the window along itself, and may do
    so across the borders of its training windows, as the paper does.

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
    ) -> Pointed:
        """Mix the vocabulary with the words seen.

        Args:
            hidden: [B, T, C], the states h_t that predict.
            memory: [B, S, C], the states to point at.
            ids: [B, S], the word that each of these has just read.
            vocab_log_probs: [B, T, V].
            mask: what may be pointed at; None for everything.
        """
        query: Tensor = torch.tanh(mapped(self, self.query_map, hidden, "states"))
        out = pointer_sentinel(query, memory, self.sentinel, ids, vocab_log_probs, mask)
        self.show(out.attended)
        return out
