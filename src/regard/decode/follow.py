"""One hypothesis a row, one token a step: what greedy search, sampling and scoring share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.request import Request
from regard.decode.trace import Choice, Leaf, Trace
from regard.protocol import Generates, attention
from regard.specials import BOS, EOS

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""(log-probabilities [N, V], walkers [N], n) -> the n-th token of each walker [N], -1 where there is no way on."""


def follow(
    model: Generates, request: Request, choose: Choose, longest: Tensor, penalty: Penalty, *, copies: int = 1
) -> list[list[Hypothesis]]:
    """Walk through the model, `copies` times from each input, up to EOS or `longest` [B].

    The walkers of input b are b * copies, ..., b * copies + copies - 1. Those that have arrived leave the batch.
    """
    origin = request.rows(copies)
    walkers = torch.arange(len(origin), device=request.device)
    token, came = torch.full_like(walkers, BOS), walkers
    trace, leaves, n = Trace(), [Leaf(row, 0, 0, False) for row in origin.tolist()], 0
    state = request.start(model, copies) if len(walkers) else None
    while len(walkers):
        step, n = model.step(token, state), n + 1
        token = choose(step.log_probs, walkers, n)
        chosen = step.log_probs.float().gather(1, token.clamp(min=0).unsqueeze(1)).squeeze(1)
        nodes = torch.arange(len(walkers), device=request.device)
        trace.add(Choice(came, nodes, token, chosen, attention(step)))
        stuck, finished = token < 0, token == EOS
        ended = stuck | finished | (n >= longest[origin[walkers]])
        before = came.tolist()
        for node in ended.nonzero().flatten().tolist():
            walker, lost = int(walkers[node]), bool(stuck[node])
            end = (n - 1, before[node]) if lost else (n, node)
            leaves[walker] = Leaf(leaves[walker].row, *end, bool(finished[node]))
        came = (~ended).nonzero().flatten()
        walkers, token = walkers[came], token[came]
        state = step.state if len(came) == len(nodes) else step.state.select(came)
    made = trace.hypotheses(leaves, request, penalty)
    return [made[row * copies : (row + 1) * copies] for row in range(request.batch)]
