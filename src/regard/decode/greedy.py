"""Greedy search: the likeliest token at every step."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.decode.follow import follow
from regard.decode.hypothesis import Hypothesis
from regard.decode.request import Limits, Request
from regard.decode.search import Search
from regard.protocol import Generates


@torch.no_grad()
def greedy_search(model: Generates, request: Request, search: Search) -> list[list[Hypothesis]]:
    """y_t = argmax_y p(y | y_<t), of equals the smallest id; one hypothesis an input."""
    limits = Limits.of(search, request)

    def choose(log_probs: Tensor, rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
        best, token = limits.restrict(log_probs, rows, n).max(-1)
        return token.masked_fill_(best == -torch.inf, -1), best

    return follow(model, request, choose, limits.longest, search.penalty)
