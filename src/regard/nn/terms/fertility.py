"""The local fertility term."""

from __future__ import annotations

from torch import Tensor

from regard.arguments import Count, checked
from regard.nn.terms.base import RecurrentTerm
from regard.ops.fertility_term import fertility_features


class Fertility(RecurrentTerm):
    r"""Attention to each key and its neighbours so far: ξ(α_{<j}; i) = Σ_{j'<j} α_{j',i-k..i+k}.

    State: the sum of all weights so far, [B, H, 1, S]; 0 for the first query.

    Args:
        reach: number k of neighbours on each side.

    No parameters: the score owns the matrix W^af. Features: 2k + 1.

    Cohn et al. 2016, local fertility; see `regard.ops.fertility_features`.

    >>> from regard.nn import Additive
    >>> Additive(query_dim=3, key_dim=5, hidden_dim=7, terms=[Fertility()]).term_weight.shape
    torch.Size([1, 7, 3])
    """

    @checked()
    def __init__(self, reach: Count = 1) -> None:
        super().__init__()
        self.reach = reach
        self.width = 2 * reach + 1

    def features(self, past: Tensor) -> Tensor:
        return fertility_features(past, reach=self.reach)

    def update(self, past: Tensor, weights: Tensor) -> Tensor:
        return past + weights

    def extra_repr(self) -> str:
        return f"reach={self.reach}"
