"""Attention over attention."""

from __future__ import annotations

from torch import Tensor

from regard.masks import Mask
from regard.nn.reader import Watched
from regard.ops.attention_over_attention import AttendedOver, attention_over_attention
from regard.ops.pointer_sum import pointer_candidates


class AttentionOverAttention(Watched):
    """Cui's reader: query words point into the document, and the document says how much each of them counts.

    It has no parameters. `forward` gives s, a distribution over the document's positions, and `candidates` the
    probabilities of words: P(w) = Σ_{i: d_i = w} s_i.

    Shapes: document [B, D, C], query [B, Q, C] -> weights [B, D]. A watcher is shown the read of the document with s.

    Cui et al. 2017, section 3; see `regard.ops.attention_over_attention` and `regard.ops.pointer_sum`.

    >>> import torch
    >>> from regard import Mask
    >>> reader = AttentionOverAttention()
    >>> ids = torch.tensor([[3, 8, 3, 5]])
    >>> out = reader(torch.zeros(1, 4, 6), torch.zeros(1, 2, 6), Mask.padding([3]))
    >>> reader.candidates(out.weights, ids, torch.tensor([[3, 8, 5]]))       # two places of three; 5 is padding
    tensor([[0.667, 0.333, 0.000]])
    """

    def forward(
        self,
        document: Tensor,
        query: Tensor,
        document_mask: Mask | None = None,
        query_mask: Mask | None = None,
    ) -> AttendedOver:
        """Point into document [B, D, C] with query [B, Q, C]; the masks say which words are there."""
        out = attention_over_attention(document, query, document_mask, query_mask)
        self.show(out.attended)
        return out

    def candidates(self, weights: Tensor, ids: Tensor, candidates: Tensor) -> Tensor:
        """P(candidate) [B, K] of words `candidates` [B, K], from s [B, D] and the document's words `ids` [B, D]."""
        return pointer_candidates(weights, ids, candidates)
