"""What a model must offer to generate: `start`, `step`, and a state that can be selected from."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from regard.ops.weights import Weights


class Selectable(Protocol):
    """A state whose rows can be kept, repeated and reordered: all that a beam asks of it."""

    def select(self, rows: Tensor) -> Self:
        """The state of these rows; `rows`: [B'] indices."""
        ...


class Step(NamedTuple):
    """What a model says after one more token.

    Attributes:
        log_probs: [B, V] in float32, the log-softmax of the next token.
        state: what the next step needs.
        attended: the weights of this step over the source, [B, (H,) 1, S]; None if the source is not attended to.
    """

    log_probs: Tensor
    state: Selectable
    attended: Weights | None = None


class Generates(Protocol):
    """A model that generates. Everything in `regard.decode` works on these two methods alone."""

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Selectable:
        """Encode the source, [B, S] ids or [B, S, C] features with `lengths` [B]; a language model gets `batch`."""
        ...

    def step(self, token: Tensor, state: Any) -> Step:
        """Read one token a row, [B] ids, BOS first, and say what may come next."""
        ...


def attention(step: Step) -> Tensor | None:
    """The weights of one step as [B, S] in float32, averaged over heads; None without attention."""
    if step.attended is None:
        return None
    weights = step.attended.weights().float()
    return weights[:, 0] if weights.dim() == 3 else weights.mean(1)[:, 0]


def device_of(model: object) -> torch.device:
    """Where the model's parameters are; the default device for one without."""
    parameters = getattr(model, "parameters", tuple)
    return next((parameter.device for parameter in parameters()), torch.get_default_device())
