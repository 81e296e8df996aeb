"""Output of a model's forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.ops.attended import Attended
from regard.ops.hard import Sample
from regard.ops.softmax import statistics_dtype
from regard.ops.weights import Weights

NOTHING: Mapping[str, Tensor] = MappingProxyType({})


class ModelOutput(NamedTuple):
    """Output of a model's forward pass.

    Attributes:
        logits: [B, T, V] of a generating model, [B, T, tags] of a transducer, [B, classes] of an acceptor.
        state: state of a generating model after the last token; None otherwise.
        attended: attention weights [B, (H,) T, S]; None without attention.
        extras: further differentiable losses and statistics for the task, by name.
    """

    logits: Tensor
    state: Any = None
    attended: Weights | None = None
    extras: Mapping[str, Tensor] = NOTHING


def log_softmax(logits: Tensor) -> Tensor:
    """Compute log-probabilities over the last dimension, in float32 for half precision."""
    return logits.to(statistics_dtype(logits.dtype)).log_softmax(dim=-1)


def concatenate_attended(reads: Sequence[Attended]) -> Weights | None:
    """Concatenate the weights of consecutive reads of one memory, computed lazily.

    >>> reads = [Attended.from_weights(torch.zeros(1, 1, 2), torch.rand(1, 1, 1, 5), has_heads=False)] * 3
    >>> concatenate_attended(reads).weights().shape
    torch.Size([1, 3, 5])
    """
    if len(reads) < 2:
        return reads[0] if reads else None
    batch, heads, _, keys = reads[0].shape
    owner = [index for index, read in enumerate(reads) for _ in range(read.shape[2])]
    place = [row for read in reads for row in range(read.shape[2])]
    has_heads = reads[0].has_heads

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        if len(row) == len(owner):  # all rows: avoids `tolist`, which a CUDA graph cannot capture
            every = [read.weigh(head, torch.arange(read.shape[2], device=head.device)) for read in reads]
            return torch.cat(every, dim=2).index_select(2, row)
        chosen = head.tolist()
        rows = [reads[owner[t]].weights(rows=place[t], heads=chosen) for t in row.tolist()]
        if not rows:
            return reads[0].context.new_zeros(batch, len(chosen), 0, keys)
        return torch.cat([part if has_heads else part.unsqueeze(1) for part in rows], dim=2)

    return Weights(weigh, (batch, heads, len(owner), keys), reads[0].context.device, has_heads=has_heads)


def hard_attention_extras(reads: Sequence[Attended]) -> Mapping[str, Tensor]:
    """Return samples of hard attention as extras: key, log-probability and entropy [B, H, T]; otherwise empty."""
    samples = [read.sample for read in reads if read.sample is not None]
    if not samples:
        return NOTHING
    sample = Sample.join(samples)
    return {"sample_key": sample.key, "sample_log_prob": sample.log_prob, "sample_entropy": sample.entropy}
