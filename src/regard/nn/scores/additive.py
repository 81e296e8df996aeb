"""The additive score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from regard.arguments import Size
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState, Past
from regard.nn.terms.base import Term
from regard.ops.additive import CARD, WITHOUT_DROPOUT, additive_attention, additive_score
from regard.ops.attended import Attended
from regard.ops.softmax import statistics_dtype


class Additive(Score):
    r"""Bahdanau's score: e_ts = vᵀ tanh(W q_t + U k_s), plus optional terms inside the tanh.

    .. math:: e_{ts} = v^\top \tanh\Bigl(W q_t + U k_s + \sum_i P_i f^{(i)}_{ts}\Bigr)

    Args:
        query_dim: width of the queries.
        key_dim: width of the keys.
        hidden_dim: width A of the hidden layer of one head; None in a recipe for that of the attention.
        num_heads: how many scores run side by side.
        terms: further features of a pair (`Position()`, `Markov()`, ...): Cohn et al. 2016.
        bias: add biases in the linear maps of queries and keys; the paper has none.

    Parameters: `query_map` W, `key_map` U, `weight` v [H, A], `term_weight` [P_1 ... P_n] [H, A, F].

    Bahdanau, Cho & Bengio 2015, section A.1.2; see `regard.ops.additive_attention`.

    >>> Additive(query_dim=3, key_dim=5, hidden_dim=7).weight.shape
    torch.Size([1, 7])
    """

    implementations = CARD.names
    without_dropout = WITHOUT_DROPOUT

    def __init__(
        self,
        query_dim: Size,
        key_dim: Size,
        hidden_dim: Size,
        *,
        num_heads: Size = 1,
        terms: Iterable[Term] = (),
        bias: bool = False,
    ) -> None:
        super().__init__(query_dim, key_dim, hidden_dim, num_heads=num_heads, bias=bias)
        self.weight = nn.Parameter(torch.empty(num_heads, hidden_dim))
        nn.init.normal_(self.weight, std=hidden_dim**-0.5)
        self.terms = nn.ModuleList(terms)
        for term in self.terms:
            if not isinstance(term, Term):
                raise TypeError(f"Additive: terms are modules like Position() or Markov(), not {type(term).__name__}")
        self.recurrent = any(term.recurrent for term in self._terms())
        self.term_weight: nn.Parameter | None = None
        if len(self.terms):
            self.term_weight = self._new_weight(sum(term.width for term in self._terms()))

    def add_term(self, term: Term) -> None:
        """Append a term, before the first use of the score."""
        self.terms.append(term)
        self.recurrent = self.recurrent or term.recurrent
        added, known = self._new_weight(term.width), self.term_weight
        self.term_weight = added if known is None else nn.Parameter(torch.cat((known.detach(), added.detach()), dim=2))

    def _new_weight(self, width: int) -> nn.Parameter:
        """Return randomly initialised weights of features."""
        weight = nn.Parameter(self.weight.new_empty(*self.weight.shape, width))
        nn.init.normal_(weight, std=width**-0.5)
        return weight

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        features = self._features(query, memory, state)
        return additive_score(query, memory.key, self.weight, features=features, feature_weight=self.term_weight)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        return additive_attention(
            query,
            memory.key,
            memory.value,
            self.weight,
            memory.mask,
            features=self._features(query, memory, state),
            feature_weight=self.term_weight,
            dropout=dropout,
            impl=impl,
        )

    def start(self, memory: Memory) -> Past:
        return () if self.term_weight is None else tuple(term.start(memory) for term in self._terms())

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        return tuple(term.advance(mine, weights, memory) for term, mine in self._with_past(past))

    def _features(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor | None:
        """Concatenate the features of all terms, [B, H or 1, T, S, F]; None without terms."""
        if self.term_weight is None:
            return None
        queries = query.shape[2]
        parts: list[Tensor] = [
            term(memory, mine, step=state.step, queries=queries) for term, mine in self._with_past(state.score)
        ]
        heads = max(part.shape[1] for part in parts)
        features = torch.cat([part.expand(-1, heads, -1, -1, -1) for part in parts], dim=-1)
        return features.to(statistics_dtype(query.dtype))  # half precision cannot tell one place from the next

    def _with_past(self, past: Past) -> Iterator[tuple[Term, Past]]:
        """Yield each term with its state."""
        for term, mine in zip(self._terms(), past, strict=True):
            assert isinstance(mine, tuple)
            yield term, mine

    def _terms(self) -> list[Term]:
        return [term for term in self.terms if isinstance(term, Term)]
