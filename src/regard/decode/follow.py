"""Decoding along a single path per row: greedy, sampled, or forced to a given output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.request import Request
from regard.decode.trace import Trace, TraceLeaf, TraceStep
from regard.protocol import Generates
from regard.specials import BOS, EOS, PAD

Choose = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""(log-probabilities [N, V], paths [N], n) -> token n of each path [N], -1 if none is possible, and its log-probability
[N]."""


def log_prob(log_probs: Tensor, token: Tensor) -> Tensor:
    """Return the log-probabilities [N] of tokens [N] in float32; undefined for -1."""
    return log_probs.gather(1, token.clamp(min=0).unsqueeze(1)).squeeze(1).float()  # [N]


def follow(
    model: Generates, request: Request, choose: Choose, longest: Tensor, penalty: Penalty, *, copies: int = 1
) -> list[list[Hypothesis]]:
    """Decode `copies` paths per input, up to EOS or `longest` [B].

    The paths of input b are b * copies, ..., b * copies + copies - 1. Finished paths leave the batch.
    """
    origin, limits = request.rows(copies).tolist(), longest.repeat_interleave(copies).tolist()
    walkers = nodes = came = torch.arange(len(origin), device=request.device)
    names, before = list(range(len(origin))), list(range(len(origin)))
    trace, leaves, n = Trace(), [TraceLeaf(row, 0, 0, False) for row in origin], 0
    token = torch.full_like(walkers, BOS)
    state = request.start(model, copies) if names else None
    while names:
        step, n = model.step(token, state), n + 1
        (token, likely), state = choose(step.log_probs, walkers, n), step.state
        trace.add(TraceStep(came, nodes, token, likely), step.attended)
        came, going = nodes, []
        for node, (walker, said) in enumerate(zip(names, token.tolist(), strict=True)):
            if said >= 0 and said != EOS and n < limits[walker]:
                going.append(node)
                continue
            end = (n, node) if said >= 0 else (n - 1, before[node])
            leaves[walker] = TraceLeaf(origin[walker], *end, said == EOS)
        if len(going) < len(names):
            came = torch.tensor(going, dtype=torch.long, device=request.device)
            names = [names[node] for node in going]
            walkers, token, nodes = walkers[came], token[came], nodes[: len(going)]
            state = state.select(came) if going else state
        before = going
    made = trace.hypotheses(leaves, request, penalty)
    return [made[row * copies : (row + 1) * copies] for row in range(request.batch)]


@torch.no_grad()
def score(
    model: Generates,
    source: Tensor | None,
    lengths: Tensor | None,
    targets: Sequence[Sequence[int]],
    *,
    penalty: Penalty | None = None,
) -> list[Hypothesis]:
    """Score given outputs: the hypotheses that a search would report, had it found them.

    Args:
        model: anything that implements `Generates`, in evaluation mode.
        source: [B, S] ids or [B, S, C] features; None for a language model.
        lengths: [B] true lengths of the sources; None if nothing is padded.
        targets: B sequences of ids without BOS, and with EOS where its probability is to count.
        penalty: the formula of the scores; None for the plain sum of log-probabilities.
    """
    request = Request.of(model, source, lengths, len(targets))
    if len(targets) != request.batch:
        raise ValueError(f"scoring needs one target a source; got {len(targets)} targets, {request.batch} sources")
    for index, target in enumerate(targets):
        if not target or EOS in target[:-1]:
            raise ValueError(f"target {index} needs at least one token and EOS ({EOS}) only at its end; got {target}")
    longest = torch.tensor([len(target) for target in targets], dtype=torch.long, device=request.device)
    most = max(map(len, targets), default=0)
    padded = [[*target, *[PAD] * (most - len(target))] for target in targets]
    tokens = torch.tensor(padded, dtype=torch.long, device=request.device)

    def choose(log_probs: Tensor, rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
        token = tokens[rows, n - 1]
        return token, log_prob(log_probs, token)

    return [made for (made,) in follow(model, request, choose, longest, penalty or Penalty())]
