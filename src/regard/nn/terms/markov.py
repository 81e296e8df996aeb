"""The Markov term."""

from __future__ import annotations

from torch import Tensor

from regard.arguments import Count, checked
from regard.nn.terms.base import RecurrentTerm
from regard.ops.markov_term import markov_features


class Markov(RecurrentTerm):
    r"""Weights of the previous query around each key: ξ(α_{j-1}; i) = [α_{j-1,i-k}, ..., α_{j-1,i+k}].

    State: the last weights, [B, H, 1, S]; 0 for the first query.

    Args:
        reach: number k of neighbours on each side.

    No parameters: the score owns the matrix W^am. Features: 2k + 1.

    Cohn et al. 2016, Markov condition; see `regard.ops.markov_features`.

    >>> from regard.nn import Additive
    >>> Additive(query_dim=3, key_dim=5, hidden_dim=7, terms=[Markov(reach=2)]).term_weight.shape
    torch.Size([1, 7, 5])
    """

    @checked()
    def __init__(self, reach: Count = 1) -> None:
        super().__init__()
        self.reach = reach
        self.width = 2 * reach + 1

    def features(self, past: Tensor) -> Tensor:
        return markov_features(past, reach=self.reach)

    def update(self, past: Tensor, weights: Tensor) -> Tensor:
        return weights

    def extra_repr(self) -> str:
        return f"reach={self.reach}"
