"""Ancestral sampling: the next token is drawn from what the model says of it."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from regard.decode.follow import follow, log_prob
from regard.decode.hypothesis import Hypothesis
from regard.decode.request import Request, SearchLimits
from regard.decode.search import Search
from regard.protocol import Generates


@torch.no_grad()
def sample(model: Generates, request: Request, search: Search) -> list[list[Hypothesis]]:
    """Draw `n_best` outputs for each input, in the order drawn; equal ones are not merged.

    Each sample has its own stream of random numbers, seeded by `search.seed`, the source itself and the sample's
    number. So a source gets the same samples in any batch, at any position in it, with any padding; a language model
    has no source, and the row's number takes its position.
    """
    limits = SearchLimits.of(search, request)
    copies, origin = search.n_best, request.rows(search.n_best)
    draws = _draws(request, search, limits)

    def choose(log_probs: Tensor, walkers: Tensor, n: int) -> tuple[Tensor, Tensor]:
        allowed = limits.restrict(log_probs, origin[walkers], n)
        token = _draw(nucleus(allowed, search), draws[walkers, n - 1])
        return token, log_prob(log_probs, token)

    return follow(model, request, choose, limits.longest, search.penalty, copies=copies)


def nucleus(log_probs: Tensor, search: Search) -> Tensor:
    """The probabilities [N, V] in float64 that a token is drawn with: temperature first, then top-k, then top-p.

    The nucleus is the fewest likeliest tokens whose probabilities together reach p (Holtzman et al. 2020, eq. 2, 3),
    among the k likeliest where both are asked for. Of equally likely tokens those with the smaller ids count first.

    >>> log_probs = torch.tensor([[0.5, 0.1, 0.3, 0.1]]).log()
    >>> nucleus(log_probs, Search(strategy="sample", top_p=0.7))
    tensor([[0.625, 0.000, 0.375, 0.000]], dtype=torch.float64)
    """
    scores = log_probs.double() / search.temperature
    probs = torch.softmax(scores, -1).nan_to_num(0.0)  # a row with no way on is all -inf
    if search.top_k is None and search.top_p is None:
        return probs
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    if search.top_k is not None:
        ordered[:, search.top_k :] = 0
        ordered /= ordered.sum(-1, keepdim=True).clamp(min=torch.finfo(ordered.dtype).tiny)
    if search.top_p is not None:
        ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered >= search.top_p, 0)
    ordered = ordered / ordered.sum(-1, keepdim=True).clamp(min=torch.finfo(ordered.dtype).tiny)
    return torch.zeros_like(probs).scatter(-1, order, ordered)


def _draw(probs: Tensor, uniform: Tensor) -> Tensor:
    """The token [N] at the point `uniform` [N] of the distribution; -1 where there is none.

    The distribution is laid out by id, not by rank: a rounding error that swaps two ranks must not swap two tokens.
    """
    heaped = probs.cumsum(-1)
    total = heaped[:, -1:]
    point = (uniform.unsqueeze(1) * total).clamp(max=total * (1 - 1e-15))
    token = torch.searchsorted(heaped, point, right=True).squeeze(1)
    return torch.where(total.squeeze(1) > 0, token, -1)


def _draws(request: Request, search: Search, limits: SearchLimits) -> Tensor:
    """Uniform numbers in [0, 1) for every sample and step, [B * n_best, longest]; each row its own stream."""
    longest = limits.longest.tolist()
    draws = torch.zeros(request.batch * search.n_best, max(longest, default=0), dtype=torch.float64, device="cpu")
    for row, length in enumerate(longest):
        content = _content(request, row)
        for copy in range(search.n_best):
            label = f"{search.seed} {copy} ".encode() + content
            seed = int.from_bytes(hashlib.blake2b(label, digest_size=8).digest(), "big", signed=True)
            stream = torch.Generator("cpu").manual_seed(seed)
            draws[row * search.n_best + copy, :length] = torch.rand(
                length, dtype=torch.float64, generator=stream, device="cpu"
            )
    return draws.to(request.device)


def _content(request: Request, row: int) -> bytes:
    """Content of a row, whatever batch it is in: its source without the padding."""
    if request.source is None:
        return str(row).encode()
    size = None if request.lengths is None else request.lengths[row]
    return repr(request.source[row, :size].tolist()).encode()
