"""Protocol of generating models: `start`, `step`, and a state whose rows can be selected."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from regard.ops.weights import Weights


class Selectable(Protocol):
    """State whose rows can be kept, repeated and reordered, as beam search does."""

    def select(self, rows: Tensor) -> Self:
        """Return the state of these rows; `rows`: [B'] indices."""
        ...


class Step(NamedTuple):
    """Output of a model after one more token.

    Attributes:
        log_probs: [B, V] in float32, the log-softmax of the next token.
        state: input of the next step.
        attended: attention weights over the source, [B, (H,) 1, S]; None for a model without attention.
    """

    log_probs: Tensor
    state: Selectable
    attended: Weights | None = None


class Generates(Protocol):
    """Generating model. All of `regard.decode` uses these two methods alone."""

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Selectable:
        """Encode the source, ids [B, S] or features [B, S, C], with `lengths` [B]; a language model takes `batch`."""
        ...

    def step(self, token: Tensor, state: Any) -> Step:
        """Read one token per row, [B] ids, BOS first; return the distribution of the next token."""
        ...


def attention(step: Step) -> Tensor | None:
    """Return the weights of one step as [B, S] in float32, averaged over heads; None without attention."""
    if step.attended is None:
        return None
    weights = step.attended.weights().float()
    return weights[:, 0] if weights.dim() == 3 else weights.mean(1)[:, 0]


def device_of(model: object) -> torch.device:
    """Return the device of a model's parameters; the default device for one without."""
    parameters = getattr(model, "parameters", tuple)
    return next((parameter.device for parameter in parameters()), torch.get_default_device())
