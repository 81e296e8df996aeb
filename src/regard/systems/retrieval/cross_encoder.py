"""Cross-encoder: joint scoring of a query and a passage."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.arguments import Share, Size, checked
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.model_output import ModelOutput
from regard.nn.attention import Attention
from regard.nn.dropout import Dropout
from regard.nn.scores import Bilinear
from regard.nn.structured import StructuredSelfAttention
from regard.ops.attended import Attended
from regard.specials import EOS, PAD
from regard.systems.retrieval.pooling import Pooling, PoolingKind, token_mask

Reads = Literal["attention", "joint"]
_FEATURES = 2  # per query word: exact match in the passage, and largest cosine similarity


class CrossEncoder(nn.Module):
    r"""Score of a passage for a query, computed from both jointly; used to re-rank the results of a faster search.

    With `reads: attention` each word of the query attends to the passage, and is compared with its context vector:

    .. math:: c_i = \sum_j a_{ij} h'_j, \quad
              v_i = \mathrm{relu}(V [h_i; c_i; h_i \odot c_i; |h_i - c_i|; e_i; m_i]), \quad
              s(q, p) = \sum_i g_i\, w \cdot v_i

    a = softmax(h_i U h'_j) over the passage, e_i is 1 if the passage contains the word, m_i is the largest cosine of
    h_i with a state of the passage, and the gates g are a softmax over the words of the query. With `reads: joint` the
    two are concatenated with `</s>` between them, and the score is computed from the pooled states, as in BERT.

    Args:
        encoder: encoder of the texts, by `kind` and its arguments in a recipe.
        reads: interaction of query and passage: `"attention"` of the query to the passage, each encoded separately, or
            `"joint"`, concatenated to one input, for encoders with self-attention.
        pooling: pooling of the joint states: `"mean"`, `"attention"` or `"last"`; unused with `reads: attention`.
        hidden_dim: width of the hidden layer V.
        longest: maximum length of a passage in tokens; longer ones are truncated.
        dropout: dropout of the inputs of the hidden layer and of the output layer.

    After Parikh et al. 2016, "A Decomposable Attention Model" (attend, compare, aggregate), with the exact match of
    Chen et al. 2017, "Reading Wikipedia to Answer Open-Domain Questions", section 3.2, and the term gates of Guo et al.
    2016, "A Deep Relevance Matching Model". Nogueira & Cho 2019, "Passage Re-ranking with BERT", for joint rows.

    >>> from regard.models import RecurrentEncoder
    >>> model = CrossEncoder(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6), hidden_dim=5)
    >>> queries, passages = torch.randint(4, 11, (2, 5)), torch.randint(4, 11, (6, 7))     # three passages per query
    >>> predicted = model(queries, torch.tensor([5, 2]), passages, torch.tensor([7, 4, 6, 7, 7, 1]))
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 3]), torch.Size([6, 5, 7]))
    """

    @checked()
    def __init__(
        self,
        encoder: AnyEncoder,
        *,
        reads: Reads = "attention",
        pooling: PoolingKind = "mean",
        hidden_dim: Size = 64,
        longest: Size = 256,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        width = width_of(self, encoder)
        self.encoder, self.reads, self.longest = encoder, reads, longest
        self.dropout = Dropout(dropout)
        self.pool = Pooling(width, pooling) if reads == "joint" else None
        self.attention = Attention(Bilinear(width, width)) if reads == "attention" else None
        self.gates = StructuredSelfAttention(width, width, 1) if reads == "attention" else None
        self.hidden_map = nn.Linear(4 * width + _FEATURES if reads == "attention" else width, hidden_dim)
        self.score_map = nn.Linear(hidden_dim, 1)

    def forward(self, queries: Tensor, query_lengths: Tensor, passages: Tensor, passage_lengths: Tensor) -> ModelOutput:
        """Score queries [B, Q] against N passages each, [B * N, S] grouped by query -> logits [B, N]."""
        passages, passage_lengths = passages[:, : self.longest], passage_lengths.clamp(max=self.longest)
        many = len(passages) // max(len(queries), 1)
        ids, lengths = queries.repeat_interleave(many, 0), query_lengths.repeat_interleave(many, 0)  # [B * N, Q]
        if self.pool is not None:
            pooled = self.pool(self.encoder(*join_pairs(ids, lengths, passages, passage_lengths)))
            return ModelOutput(self._scores(pooled.vector).view(-1, many))
        query = _repeated(self.encoder(queries, query_lengths), many)  # each query is encoded once, not N times
        values, attended = self._compared(query, self.encoder(passages, passage_lengths), ids, passages)
        assert self.gates is not None
        gates = self.gates(query.states, query.mask).weights().squeeze(1)  # [B * N, Q]
        return ModelOutput((gates * self._scores(values)).sum(1).view(-1, many), attended=attended)

    def _compared(self, query: Encoded, passage: Encoded, ids: Tensor, passages: Tensor) -> tuple[Tensor, Attended]:
        """Return the comparison features of each query word, [B, Q, 4 C + 2], and the attention to the passage."""
        assert self.attention is not None
        attended: Attended = self.attention(query.states, passage.states, mask=passage.mask)
        own, found = query.states, attended.context
        inside = token_mask(passage).unsqueeze(1)  # [B, 1, S]
        unit = [nn.functional.normalize(one, dim=2) for one in (own, passage.states)]
        nearest = (unit[0] @ unit[1].mT).masked_fill(~inside, -1.0).amax(2, keepdim=True)  # [B, Q, 1]
        occurs = ((ids.unsqueeze(2) == passages.unsqueeze(1)) & inside).any(2, keepdim=True)  # [B, Q, 1]
        return torch.cat((own, found, own * found, (own - found).abs(), occurs.to(own), nearest), dim=2), attended

    def _scores(self, compared: Tensor) -> Tensor:
        """Score feature vectors: [..., D] -> [...]."""
        hidden = torch.relu(self.hidden_map(self.dropout(compared)))
        scores: Tensor = self.score_map(self.dropout(hidden)).squeeze(-1)
        return scores


def join_pairs(
    queries: Tensor, query_lengths: Tensor, passages: Tensor, passage_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Concatenate each query and its passage with `</s>` between them; return the ids and the lengths.

    >>> join_pairs(torch.tensor([[5, 0]]), torch.tensor([1]), torch.tensor([[7, 8]]), torch.tensor([2]))
    (tensor([[5, 3, 7, 8, 0]]), tensor([4]))
    """
    size = queries.shape[1] + 1 + passages.shape[1]
    # Padding is scattered to an extra last column, which is dropped: no boolean indexing, so no device synchronisation.
    rows = queries.new_full((len(queries), size + 1), PAD)
    begins = query_lengths.unsqueeze(1)
    for ids, lengths, first in ((queries, query_lengths, 0 * begins), (passages, passage_lengths, begins + 1)):
        place = torch.arange(ids.shape[1], device=ids.device)
        rows.scatter_(1, torch.where(place < lengths.unsqueeze(1), first + place, size), ids)
    rows.scatter_(1, begins, EOS)
    return rows[:, :size], query_lengths + 1 + passage_lengths


def _repeated(encoded: Encoded, times: int) -> Encoded:
    """Repeat encoded queries for several passages each; the encoder's recurrent state is dropped."""
    mask = None if encoded.mask is None else encoded.mask.select(_rows(encoded.states, times))
    return Encoded(encoded.states.repeat_interleave(times, 0), encoded.summary.repeat_interleave(times, 0), mask)


def _rows(states: Tensor, times: int) -> Tensor:
    return torch.arange(len(states), device=states.device).repeat_interleave(times)
