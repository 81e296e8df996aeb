"""Scorers of the dynamic pointer: scores of each word as the start or the end of an answer."""

from __future__ import annotations

import abc

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class PointScorer(nn.Module, abc.ABC):
    """Scores each word of a passage, given the decoder's state and its last estimate of the span.

    The first layer is linear in [u_t; ...]. Its product with the words u_t is the same in all iterations, so `words`
    computes it once per passage.
    """

    @abc.abstractmethod
    def words(self, states: Tensor) -> Tensor:
        """Return the first layer's projection of the words: [B, S, U] -> [B, S, ...]."""

    @abc.abstractmethod
    def forward(self, words: Tensor, estimate: Tensor) -> Tensor:
        """Score projected words (the result of `words`) given [h; u_s; u_e] [B, L + 2U] -> [B, S]."""


class HighwayMaxout(PointScorer):
    r"""A highway maxout network: three maxout layers, the first of which also feeds the last.

    .. math:: r = \tanh(W^D [h; u_s; u_e]), \quad m^1_t = \max(W^1 [u_t; r] + b^1), \quad
              m^2_t = \max(W^2 m^1_t + b^2), \quad \mathrm{HMN}(u_t, h, u_s, u_e) = \max(W^3 [m^1_t; m^2_t] + b^3)

    Each max is over a pool of p linear maps: W^1 is [p, l, 3l], W^2 [p, l, l], W^3 [p, 1, 2l]. The paper prints a
    b^1 for another width of W^1, but with u_t of width 2l and r of width l only 3l is possible.

    Args:
        state_dim: U, width of the words' states; 2l in the paper.
        hidden_dim: l, width of the decoder's state and of the layers.
        pool: p.

    Xiong, Zhong & Socher 2017, equations 9 to 13; highways by Srivastava et al. 2015, maxout by Goodfellow et al. 2013.

    >>> scorer = HighwayMaxout(6, 3, pool=4)
    >>> scorer(scorer.words(torch.randn(2, 7, 6)), torch.randn(2, 15)).shape
    torch.Size([2, 7])
    """

    def __init__(self, state_dim: int, hidden_dim: int, *, pool: int = 16) -> None:
        super().__init__()
        self.pool = pool
        self.estimate_map = nn.Linear(hidden_dim + 2 * state_dim, hidden_dim, bias=False)  # W^D
        self.first_map = nn.Linear(state_dim + hidden_dim, pool * hidden_dim)  # W^1, b^1
        self.second_map = nn.Linear(hidden_dim, pool * hidden_dim)  # W^2, b^2
        self.output_map = nn.Linear(2 * hidden_dim, pool)  # W^3, b^3

    def words(self, states: Tensor) -> Tensor:
        return F.linear(states, self.first_map.weight[:, : states.shape[2]], self.first_map.bias)  # [B, S, p * l]

    def forward(self, words: Tensor, estimate: Tensor) -> Tensor:
        told = torch.tanh(self.estimate_map(estimate))  # r, [B, l]
        weight = self.first_map.weight[:, -told.shape[1] :]
        first = self._maxout(words + F.linear(told, weight).unsqueeze(1))  # m^1, [B, S, l]
        second = self._maxout(self.second_map(first))  # m^2, [B, S, l]
        scores: Tensor = self.output_map(torch.cat((first, second), dim=2)).amax(2)
        return scores  # [B, S]

    def _maxout(self, x: Tensor) -> Tensor:
        """[B, S, p * l] -> [B, S, l]."""
        # On CPU, `amax` is much faster than `max`, which also computes indices.
        largest: Tensor = x.unflatten(2, (self.pool, -1)).amax(dim=2)
        return largest

    def extra_repr(self) -> str:
        return f"pool={self.pool}"


class MLPScorer(PointScorer):
    r"""MLP with two layers instead of a highway maxout network: the paper's ablation.

    .. math:: \mathrm{MLP}(u_t, h, u_s, u_e) = w^\top \max(0, W [u_t; h; u_s; u_e] + b) + c

    Args:
        state_dim: U, width of the words' states.
        hidden_dim: l, width of the decoder's state and of the hidden layer.

    >>> scorer = MLPScorer(6, 3)
    >>> scorer(scorer.words(torch.randn(2, 7, 6)), torch.randn(2, 15)).shape
    torch.Size([2, 7])
    """

    def __init__(self, state_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_map = nn.Linear(hidden_dim + 3 * state_dim, hidden_dim)  # W, b
        self.output_map = nn.Linear(hidden_dim, 1)  # w, c

    def words(self, states: Tensor) -> Tensor:
        return F.linear(states, self.hidden_map.weight[:, : states.shape[2]], self.hidden_map.bias)  # [B, S, l]

    def forward(self, words: Tensor, estimate: Tensor) -> Tensor:
        weight = self.hidden_map.weight[:, -estimate.shape[1] :]
        hidden = torch.relu(words + F.linear(estimate, weight).unsqueeze(1))  # [B, S, l]
        scores: Tensor = self.output_map(hidden).squeeze(2)
        return scores  # [B, S]
