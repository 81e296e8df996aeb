"""Scores of outputs that are given, through the same steps that a search takes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.decode.follow import follow, log_prob
from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.request import Request
from regard.protocol import Generates
from regard.specials import EOS, PAD


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
