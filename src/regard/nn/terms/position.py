"""The position term."""

from __future__ import annotations

from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.state import Past
from regard.nn.terms.base import Term
from regard.ops.position_term import position_features
from regard.ops.softmax import statistics_dtype


class Position(Term):
    r"""Positions of query and key: ψ(j, i, I) = [log(1 + j), log(1 + i), log(1 + I)].

    j is the number of the query, i that of the key, both from 0; I is the true length of each sentence, taken from
    the mask of the memory. It needs no past, so all queries are read in parallel, also by fused implementations.

    No parameters: the score owns the matrix W^ap. Features: 3.

    Cohn et al. 2016, position bias; see `regard.ops.position_features`.

    >>> from regard.nn import Additive
    >>> Additive(query_dim=3, key_dim=5, hidden_dim=7, terms=[Position()]).term_weight.shape
    torch.Size([1, 7, 3])
    """

    width = 3

    def forward(self, memory: Memory, past: Past, *, step: int, queries: int) -> Tensor:
        dtype = statistics_dtype(memory.key.dtype)
        return position_features(queries, memory.size, memory.lengths, step=step, dtype=dtype)
