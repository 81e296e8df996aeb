"""Entry point of decoding: from a model and sources to hypotheses, by a search strategy or an external engine."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.decode.beam import beam_search
from regard.decode.follow import follow
from regard.decode.hypothesis import Hypothesis
from regard.decode.request import Request, SearchLimits
from regard.decode.sampling import sample
from regard.decode.search import Search
from regard.protocol import Generates


@runtime_checkable
class Engine(Protocol):
    """A model with the search of another library; `generate` passes the whole request to it."""

    def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
        """Return up to `n_best` hypotheses per input, best first; an unsupported setting is a ValueError."""
        ...


@torch.no_grad()
def greedy_search(model: Generates, request: Request, search: Search) -> list[list[Hypothesis]]:
    """Greedy search: y_t = argmax_y p(y | y_<t), ties by id; one hypothesis per input."""
    limits = SearchLimits.of(search, request)

    def choose(log_probs: Tensor, rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
        best, token = limits.restrict(log_probs, rows, n).max(-1)
        return token.masked_fill_(best == -torch.inf, -1), best

    return follow(model, request, choose, limits.longest, search.penalty)


_STRATEGIES = {"greedy": greedy_search, "beam": beam_search, "sample": sample}


def generate(
    model: Generates | Engine,
    source: Tensor | None = None,
    lengths: Tensor | None = None,
    search: Search | None = None,
    *,
    batch: int | None = None,
) -> list[list[Hypothesis]]:
    """Generate hypotheses for each source.

    In float32 the hypotheses, their order and their scores depend neither on the batch of a source, nor on its padding,
    nor on `n_best`, up to the rounding of the model.

    Args:
        model: an implementation of `Generates`, in evaluation mode; or an `Engine`, which has its own search.
        source: ids [B, S] or features [B, S, C]; None for a language model.
        lengths: [B], true lengths of the sources; None without padding.
        search: settings; None for a beam of 5.
        batch: number of rows that a language model generates.

    Returns:
        Up to `n_best` hypotheses per source: best first from a beam, samples in the order of drawing.

    >>> import torch
    >>> from regard.decode import Step
    >>> class Coin:                                  # heads (4) or tails (5) for ever, or an end
    ...     def start(self, source, lengths, *, batch=None): return self
    ...     def select(self, rows): return self
    ...     def step(self, token, state):
    ...         return Step(torch.tensor([0, 0, 0, 0.5, 0.3, 0.2]).log().expand(len(token), -1), self)
    >>> found = generate(Coin(), batch=1, search=Search(n_best=3, length_penalty="none"))
    >>> [hypothesis.tokens for hypothesis in found[0]]
    [(3,), (4, 3), (5, 3)]
    """
    settings = search or Search()
    request = Request.of(model, source, lengths, batch)
    if isinstance(model, Engine):
        return model.search(request, settings)
    return _STRATEGIES[settings.strategy](model, request, settings)
