"""Exact search for the vectors with the largest products, block by block."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.systems.retrieval.ranking import Ranking

_NUMBERS = 1 << 20
"""Numbers of a block in float32: 4 MB, which stay in a processor's cache."""


def nearest(queries: Tensor, vectors: Tensor, k: int) -> list[Ranking]:
    """Return for each query the k vectors with the largest inner products.

    Args:
        queries: [Q, C].
        vectors: [M, C], float32 or float16, in memory or mapped from a file; one block is read at a time, and the best
            of all blocks so far are kept, so memory does not grow with M.
        k: how many.

    >>> [one.numbers.tolist() for one in nearest(torch.eye(2), torch.tensor([[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]]), 2)]
    [[2, 0], [1, 2]]
    """
    count, width = vectors.shape
    queries, k = queries.float(), min(k, count)
    scores = queries.new_full((len(queries), 0), -torch.inf)
    numbers = torch.zeros(len(queries), 0, dtype=torch.int64, device=queries.device)
    size = max(_NUMBERS // max(width, 1), k, 1)
    for begin in range(0, count, size):
        block = vectors[begin : begin + size].to(queries.device, torch.float32)
        found = queries @ block.mT  # [Q, N]
        top = found.topk(min(k, found.shape[1]), dim=1)
        scores = torch.cat((scores, top.values), dim=1)
        numbers = torch.cat((numbers, top.indices + begin), dim=1)
        kept = scores.topk(min(k, scores.shape[1]), dim=1)
        scores, numbers = kept.values, numbers.gather(1, kept.indices)
    return [Ranking.best(row.numpy(), value.numpy(), k) for row, value in zip(numbers.cpu(), scores.cpu(), strict=True)]
