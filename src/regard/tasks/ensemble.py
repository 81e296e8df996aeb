"""Ensemble: several trained models as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from regard.decode.ensemble import Ensemble, EnsembleState, mean_attended
from regard.models.model_output import ModelOutput
from regard.protocol import Step
from regard.tasks.input_output import mean_log_probs

Mean = Callable[[Sequence[Tensor]], Tensor]


class PredictionEnsemble(nn.Module):
    r"""Models of one task and one vocabulary that answer as one: the mean of what they say is likely.

    .. math:: p(y) = \frac{1}{M} \sum_m p_m(y)

    A whole batch at once for losses, labels and tags; step by step, as `regard.decode.Ensemble`, for texts. Alignments
    are the mean over the models that have one, their heads averaged.

    Args:
        models: one or more, called alike.
        mean: from the logits of each to those of all; None for the mean probability of a softmax.

    >>> import torch
    >>> from regard.models import Bahdanau
    >>> both = PredictionEnsemble([Bahdanau(11, 13, embedding_dim=3, hidden_dim=5) for _ in range(2)]).eval()
    >>> said = both(torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7]]))
    >>> said.logits.exp().sum(-1), said.attended.weights().shape
    (tensor([[1., 1.]], grad_fn=<SumBackward1>), torch.Size([1, 2, 3]))
    """

    def __init__(self, models: Sequence[nn.Module], *, mean: Mean | None = None) -> None:
        super().__init__()
        self._mean = mean or mean_log_probs
        self.models = nn.ModuleList(models)
        members: list[Any] = list(models)
        self._ensemble = Ensemble(members)

    def forward(self, *inputs: Any) -> ModelOutput:
        """Return the averaged output of the models; an `EnsembleState` among the inputs has a part per model."""
        each: list[ModelOutput] = [
            model(*(one.parts[index] if isinstance(one, EnsembleState) else one for one in inputs))
            for index, model in enumerate(self.models)
        ]
        return ModelOutput(
            self._mean([one.logits for one in each]),
            EnsembleState(tuple(one.state for one in each)),
            mean_attended([_heads_averaged(one.attended.weights()) for one in each if one.attended is not None]),
        )

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> EnsembleState:
        """Return the state before the first token, of all models."""
        return self._ensemble.start(source, lengths, batch=batch)

    def step(self, token: Tensor, state: EnsembleState) -> Step:
        """Read one token [B] by all models."""
        return self._ensemble.step(token, state)


class WindowedEnsemble(PredictionEnsemble):
    """Language models that all carry their state from window to window."""

    def carry(self, state: EnsembleState) -> EnsembleState:
        """Return the state that the next window begins with, of each model."""
        return EnsembleState(tuple(model.carry(part) for model, part in zip(self._members(), state.parts, strict=True)))

    def _members(self) -> list[Any]:
        return list(self.models)


def make_ensemble(models: Sequence[nn.Module], *, mean: Mean | None = None) -> nn.Module:
    """Return one model of several, by the `mean` of their logits; a single one stays as it is."""
    if len(models) == 1:
        return models[0]
    carrying = [hasattr(model, "carry") for model in models]
    if any(carrying) and not all(carrying):
        raise ValueError("an ensemble of language models needs all of them to carry their state, or none")
    return (WindowedEnsemble if all(carrying) else PredictionEnsemble)(models, mean=mean)


def _heads_averaged(weights: Tensor) -> Tensor:
    """[B, (H,) T, S] -> [B, T, S]."""
    return weights if weights.dim() == 3 else weights.mean(1)
