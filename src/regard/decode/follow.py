"""One hypothesis a row, one token a step: what greedy search, sampling and scoring share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.request import Request
from regard.decode.trace import Choice, Leaf, Trace
from regard.protocol import Generates
from regard.specials import BOS, EOS

Choose = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""(log-probabilities [N, V], walkers [N], n) -> the n-th token of each walker [N], -1 where there is no way on, and the
log-probability of each [N]."""


def log_prob(log_probs: Tensor, token: Tensor) -> Tensor:
    """The log-probabilities [N] of tokens [N], in float32; anything for -1."""
    return log_probs.gather(1, token.clamp(min=0).unsqueeze(1)).squeeze(1).float()


def follow(
    model: Generates, request: Request, choose: Choose, longest: Tensor, penalty: Penalty, *, copies: int = 1
) -> list[list[Hypothesis]]:
    """Walk through the model, `copies` times from each input, up to EOS or `longest` [B].

    The walkers of input b are b * copies, ..., b * copies + copies - 1. Those that have arrived leave the batch.
    """
    origin, limits = request.rows(copies).tolist(), longest.repeat_interleave(copies).tolist()
    walkers = nodes = came = torch.arange(len(origin), device=request.device)
    names, before = list(range(len(origin))), list(range(len(origin)))
    trace, leaves, n = Trace(), [Leaf(row, 0, 0, False) for row in origin], 0
    token = torch.full_like(walkers, BOS)
    state = request.start(model, copies) if names else None
    while names:
        step, n = model.step(token, state), n + 1
        (token, likely), state = choose(step.log_probs, walkers, n), step.state
        trace.add(Choice(came, nodes, token, likely), step.attended)
        came, going = nodes, []
        for node, (walker, said) in enumerate(zip(names, token.tolist(), strict=True)):
            if said >= 0 and said != EOS and n < limits[walker]:
                going.append(node)
                continue
            end = (n, node) if said >= 0 else (n - 1, before[node])
            leaves[walker] = Leaf(origin[walker], *end, said == EOS)
        if len(going) < len(names):
            came = torch.tensor(going, dtype=torch.long, device=request.device)
            names = [names[node] for node in going]
            walkers, token, nodes = walkers[came], token[came], nodes[: len(going)]
            state = state.select(came) if going else state
        before = going
    made = trace.hypotheses(leaves, request, penalty)
    return [made[row * copies : (row + 1) * copies] for row in range(request.batch)]
