"""Ancestral sampling with temperature, top-k and top-p."""

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
    """Draw `n_best` outputs per input, in the order of drawing; equal ones are not merged.

    Each sample has its own stream of random numbers, seeded by `search.seed`, the source itself and the index of the
    sample. The samples of a source therefore depend neither on the batch, nor on its position in it, nor on padding. A
    language model without a source uses the index of the row instead.
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
    """Return the sampling distribution [N, V] in float64: temperature first, then top-k, then top-p.

    The nucleus is the smallest set of most probable tokens whose probabilities sum to at least p (Holtzman et al. 2020,
    eq. 2, 3), among the top k if both are set. Ties are broken by id.

    >>> log_probs = torch.tensor([[0.5, 0.1, 0.3, 0.1]]).log()
    >>> nucleus(log_probs, Search(strategy="sample", top_p=0.7))
    tensor([[0.625, 0.000, 0.375, 0.000]], dtype=torch.float64)
    """
    scores = log_probs.double() / search.temperature
    probs = torch.softmax(scores, -1).nan_to_num(
        0.0
    )  # a row without any allowed token is all -inf, whose softmax is NaN
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
    """Draw tokens [N] by inverting the cumulative distribution at `uniform` [N]; -1 for an empty distribution.

    The distribution is in the order of ids, not of ranks, so that rounding which swaps two ranks changes no sample.
    """
    heaped = probs.cumsum(-1)
    total = heaped[:, -1:]
    point = (uniform.unsqueeze(1) * total).clamp(max=total * (1 - 1e-15))
    token = torch.searchsorted(heaped, point, right=True).squeeze(1)
    return torch.where(total.squeeze(1) > 0, token, -1)


def _draws(request: Request, search: Search, limits: SearchLimits) -> Tensor:
    """Return uniform numbers in [0, 1) per sample and step, [B * n_best, longest], each row from its own stream."""
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
    """Return the content of a row, independent of its batch: the source without padding."""
    if request.source is None:
        return str(row).encode()
    size = None if request.lengths is None else request.lengths[row]
    return repr(request.source[row, :size].tolist()).encode()
