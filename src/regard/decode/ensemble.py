"""Ensembles: several models averaged at each step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, get_args

import torch
from torch import Tensor

from regard.ops.weights import Weights
from regard.protocol import Generates, Selectable, Step, attention

Average = Literal["probabilities", "log_probabilities"]


@dataclass(frozen=True)
class EnsembleState:
    """States of all models of an ensemble."""

    parts: tuple[Selectable, ...]

    def select(self, rows: Tensor) -> EnsembleState:
        """Keep, repeat or reorder the rows of all; `rows`: [B'] indices."""
        return EnsembleState(tuple(part.select(rows) for part in self.parts))


class Ensemble:
    r"""Ensemble of models with one vocabulary, averaged at each step; follows the same protocol as a model.

    .. math:: p(y) = \frac{1}{M} \sum_m p_m(y) \qquad\text{or}\qquad p(y) \propto \prod_m p_m(y)^{1/M}

    Args:
        models: one or more; they read the same source.
        average: "probabilities" (left, the arithmetic mean: some models suffice to make a token likely) or
            "log_probabilities" (right, the geometric mean: all models must agree).

    Alignments are averaged over the models that have one.
    """

    def __init__(self, models: Sequence[Generates], *, average: Average = "probabilities") -> None:
        if not models:
            raise ValueError("an ensemble needs at least one model; got none")
        if average not in get_args(Average):
            raise ValueError(f"an ensemble averages {' or '.join(get_args(Average))}; got {average!r}")
        self.models = tuple(models)
        self.average = average

    @property
    def training(self) -> bool:
        """True if any of the models is in training mode."""
        return any(getattr(model, "training", False) for model in self.models)

    def parameters(self) -> Iterator[Tensor]:
        """Return the parameters of all models."""
        return chain.from_iterable(getattr(model, "parameters", tuple)() for model in self.models)

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> EnsembleState:
        """Return the initial states of all models."""
        return EnsembleState(tuple(model.start(source, lengths, batch=batch) for model in self.models))

    def step(self, token: Tensor, state: EnsembleState) -> Step:
        """Step all models and average their predictions."""
        steps = [model.step(token, part) for model, part in zip(self.models, state.parts, strict=True)]
        sizes = {step.log_probs.shape[-1] for step in steps}
        if len(sizes) > 1:
            raise ValueError(f"the models of an ensemble need one vocabulary; theirs have {sorted(sizes)} tokens")
        return Step(
            self.mean([step.log_probs.float() for step in steps]),
            EnsembleState(tuple(step.state for step in steps)),
            mean_attended([weights[:, None] for step in steps if (weights := attention(step)) is not None]),
        )

    def mean(self, log_probs: Sequence[Tensor]) -> Tensor:
        """Average log-probabilities [..., V] of the models -> [..., V]."""
        each = torch.stack(tuple(log_probs))  # [models, ..., V]
        if self.average == "probabilities":
            return each.logsumexp(0) - math.log(len(self.models))
        mean = each.mean(0)
        # Clamped, so that a row without any possible token stays -inf and does not become NaN.
        return mean - mean.logsumexp(-1, keepdim=True).clamp(min=torch.finfo(mean.dtype).min)


def mean_attended(weights: Sequence[Tensor]) -> Weights | None:
    """Average attention weights of the models, each [B, T, S]; None without any, or if their shapes differ (hops)."""
    if len({each.shape[-1] for each in weights}) > 1:
        sizes = ", ".join(str(each.shape[-1]) for each in weights)
        raise ValueError(f"the alignments of an ensemble need one source; its models attend to {sizes} positions")
    if len({each.shape for each in weights}) != 1:
        return None
    return Weights.of(torch.stack(tuple(weights)).mean(0)[:, None], has_heads=False)  # [B, 1, T, S]
