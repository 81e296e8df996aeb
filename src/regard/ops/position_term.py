"""The position term of an additive score (Cohn et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.ops.card import Card

CARD = Card(
    name="position_term",
    family="score term",
    equation="ψ(j, i, I) = [log(1 + j), log(1 + i), log(1 + I)]",
    paper='Cohn et al. 2016, "Position bias"',
    cost="T·S·3, and T·S·3·A inside the score",
    op="position_features",
    module="Position",
)


def position_features(
    queries: int, keys: int, lengths: Tensor, *, step: int = 0, dtype: torch.dtype = torch.float32
) -> Tensor:
    r"""Positions of query and key, and the length of the sentence: words at similar positions tend to align.

    .. math:: \psi(j, i, I) = [\log(1 + j),\ \log(1 + i),\ \log(1 + I)]

    Inside the tanh of an additive score these let a model learn that i / I is near j / J, without the target length J,
    which is unknown during decoding.

    Args:
        queries: T, number of queries.
        keys: S, number of keys including padding.
        lengths: [B], I: the *true* length of each sentence, so that padding changes nothing.
        step: j of the first query; queries and keys are counted from 0.
        dtype: of the features.

    Returns:
        Features [B, 1, T, S, 3]: the same for all heads.

    Raises:
        ValueError: lengths that are not [B].

    Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model",
    position bias. The authors' code counts from 0, as here: the first word has log(1 + 0) = 0.

    >>> position_features(1, 3, torch.tensor([3]), step=1)[0, 0, 0]
    tensor([[0.69, 0.00, 1.39],
            [0.69, 0.69, 1.39],
            [0.69, 1.10, 1.39]])
    """
    if lengths.dim() != 1:
        raise ValueError(f"position_term: lengths must be [B], one a sentence; got shape {list(lengths.shape)}")
    query = torch.arange(step, step + queries, device=lengths.device).view(1, 1, -1, 1)
    key = torch.arange(keys, device=lengths.device).view(1, 1, 1, -1)
    positions = (query, key, lengths.view(-1, 1, 1, 1))
    # [B, 1, T, S, 3]
    return torch.stack(torch.broadcast_tensors(*(position.to(dtype).log1p() for position in positions)), dim=-1)
