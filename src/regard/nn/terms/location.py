"""The location term."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Count, Size, checked
from regard.nn.terms.base import RecurrentTerm
from regard.ops.location_term import location_features


class LocationFeatures(RecurrentTerm):
    r"""Learned filters over the last alignment: f_j = F * α_{j-1}, or over the sum of all alignments so far.

    With content in the same score it is the hybrid attention of speech recognition:

    .. math:: e_{ji} = v^\top \tanh(W q_j + U k_i + P f_{ji} + b)

    State: the last weights, or their sum, [B, H, 1, S]; 0 for the first query. The equations leave α_0 open; zeros mean
    that nothing was attended yet.

    Args:
        num_filters: number of filters.
        reach: number k of neighbours on each side, for filters of length 2k + 1; 15 in Tacotron 2.
        cumulative: filter the sum of all alignments so far, as in Tacotron 2, instead of the last one. For both, give
            the score two terms.

    Parameters: `filters` F [num_filters, 2k + 1], the same for all heads. The score owns the matrix that maps the
    features (the paper's U) and, with `Additive(..., bias=True)`, b. Features: num_filters.

    Chorowski et al. 2015, equations 8 and 9; see `regard.ops.location_features`. Not to be confused with Luong's
    location score, which does not depend on the past.

    >>> from regard.nn import Additive
    >>> Additive(query_dim=3, key_dim=5, hidden_dim=7, terms=[LocationFeatures()], bias=True).term_weight.shape
    torch.Size([1, 7, 10])
    """

    @checked()
    def __init__(self, num_filters: Size = 10, *, reach: Count = 15, cumulative: bool = False) -> None:
        super().__init__()
        self.reach = reach
        self.width = num_filters
        self.cumulative = cumulative
        self.filters = nn.Parameter(torch.empty(num_filters, 2 * reach + 1))
        nn.init.uniform_(self.filters, -((2 * reach + 1) ** -0.5), (2 * reach + 1) ** -0.5)

    def features(self, past: Tensor) -> Tensor:
        return location_features(past, self.filters)

    def update(self, past: Tensor, weights: Tensor) -> Tensor:
        return past + weights if self.cumulative else weights

    def extra_repr(self) -> str:
        return f"num_filters={self.width}, reach={self.reach}, cumulative={self.cumulative}"
